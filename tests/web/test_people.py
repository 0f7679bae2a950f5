"""What the page about single records shows is what is in the files of the release, private and published."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tsveil.web import work
from tsveil.web.people import _bars, _curve, _find, _listed
from web.test_doors import table

#: name -> table, roles, method, parameters
RELEASES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "series": ("series", {"id": "who"}, "mdav", {"k": 5}),
    "persons": ("persons", {"person": ["who"], "leave_out": ["day"]}, "mdav", {"k": 3}),
    "labels": ("blocks", {"categories": {"ill": "nominal"}}, "mdav", {"k": 4}),
    "envelopes": ("series", {"id": "who"}, "kp", {"k": 6, "P": 3}),
    "no promise": ("blocks", {"blocks": {"x": ["a", "b", "c", "d"]}}, "noise", {"sd": 0.5}),
}


def released(name: str, tmp_path: Path) -> Path:
    kind, roles, method, settings = RELEASES[name]
    (tmp_path / "data.csv").write_text(table(kind))
    task: dict[str, Any] = {
        "place": str(tmp_path), "data": str(tmp_path / "data.csv"), "name": "data.csv", "path": "data.csv", "source": "upload",
        "input": roles, "title": "", "seed": "7", "limits": {"max_risk": None, "max_loss": None, "verified": False},
        "methods": {method: {parameter: [value] for parameter, value in settings.items()}},
    }  # fmt: skip
    work.try_methods(task, tmp_path, work.Telling(io.StringIO()))
    return next((tmp_path / "releases").iterdir())


@pytest.mark.parametrize("name", RELEASES)
def test_records_are_those_of_the_files(name: str, tmp_path: Path) -> None:
    made = released(name, tmp_path)
    records, schema = pl.read_parquet(made / "records.parquet"), json.loads((made / "records.json").read_text())
    data = pl.read_csv(tmp_path / "data.csv")
    assert len(records) == len(data) == 60
    private = made / "release" / "private"
    risk, ids = pl.read_csv(private / "risk.csv"), pl.read_csv(private / "id_map.csv")
    both = records.join(risk.with_columns(pl.col("original").cast(pl.String)), left_on="name", right_on="original")
    for title in schema["titles"]:
        assert np.array_equal(both[title], both[f"{title}_right"], equal_nan=True)
    known = [column for column in ("risk", "risk_person", "risk_share", "risk_file") if column in risk.columns]
    if name != "envelopes":
        most = risk.with_columns(m=pl.max_horizontal(pl.col(column).fill_nan(0.0) for column in known))["m"]
        assert records["highest"].max() == pytest.approx(most.max())
        assert records["highest"].is_sorted(descending=True)
    # The published row of each record, by the id map, and who shares it.
    published = pl.read_csv(made / "release" / "published" / "data.csv", infer_schema=False)
    place = dict(zip(ids["original"].cast(pl.String), ids["published_row"], strict=True))
    if name != "envelopes":
        columns = [column for block in schema["blocks"] for column in block["columns"]]
        columns = [column for column in published.columns if column in columns]
        rows = published.select(columns).rows()
        own = {record: rows[row - 1] for record, row in place.items()}
        sharing = Counter(own.values())
        assert dict(zip(records["name"], records["records"], strict=True)) == {r: sharing[v] for r, v in own.items()}
        persons: dict[Any, set[Any]] = {}
        who = data["who"].to_list() if name == "persons" else list(range(60))
        names = (
            [str(at + 1) for at in range(60)]
            if "who" not in data.columns or name == "persons"
            else data["who"].to_list()
        )
        for record, person in zip(names, who, strict=True):
            persons.setdefault(own[record], set()).add(person)
        assert dict(zip(records["name"], records["persons"], strict=True)) == {
            r: len(persons[v]) for r, v in own.items()
        }
    # Values before and after, of the riskiest, the typical and the luckiest one.
    for which in ("riskiest", "typical", "luckiest"):
        found = _find(made / "records.parquet", which, "")
        assert found is not None
        again = _find(made / "records.parquet", "named", found["name"])
        assert again == found
        for block in schema["blocks"]:
            if block["kind"] == "series":
                curve = _curve(block, found, schema, "3", "6")
                (row,) = data.filter(pl.col("who") == found["name"]).rows()
                assert [values[0] for _, _, values in curve["rows"]] == [f"{value:,.6g}" for value in row[4:8]]
                assert (curve["first"], curve["last"], len(curve["rows"])) == (3, 6, 4)
            else:
                listed = {column: (before, after) for column, before, after in _listed(block, found)["rows"]}
                cells = data.row(int(found["name"]) - 1, named=True)
                shown = published.row(place[found["name"]] - 1, named=True)
                for column, (before, after) in listed.items():
                    number = column != "ill"
                    assert before == (f"{cells[column]:,.6g}" if number else cells[column])
                    assert after == (f"{float(shown[column]):,.6g}" if number else shown[column])
    assert _find(made / "records.parquet", "named", "nobody") is None
    for one in schema["distributions"]:
        assert sum(one["before"]) == sum(one["after"]) > 0
        assert max(high for _, _, _, *both_heights in _bars(one)["rows"] for high in both_heights) == 100
        if one["name"] == "ill":
            assert dict(zip(one["names"], one["before"], strict=True)) == Counter(data["ill"])


def test_a_curve_of_many_points_is_drawn_as_means_and_looked_at_closer() -> None:
    points = 1000
    block = {"name": "load", "kind": "series", "start": 0, "columns": [f"t{i}" for i in range(points)], "labels": None}
    record = {"before": list(map(float, range(points))), "after": [1.0] * points}
    schema = {"envelopes": False, "columns": points}
    curve = _curve(block, record, schema, "", "")
    assert curve["together"] == 3
    assert curve["rows"][0][2] == ["1", "1"]
    assert len(curve["rows"]) == 334
    closer = _curve(block, record, schema, "11", "20")
    assert closer["together"] == 1
    assert [values[0] for _, _, values in closer["rows"]] == [str(value) for value in range(10, 20)]
    # Whatever is typed, something is drawn.
    for begin, end in (("x", "y"), ("5000", "1"), ("-3", "0"), ("1000", "1000")):
        assert _curve(block, record, schema, begin, end)["rows"]
    gaps = _curve(block, {**record, "after": [float("nan")] * points}, schema, "1", "3")
    assert gaps["paths"][1] == ""


def test_data_that_are_worked_on_in_chunks_are_released_without_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit into memory is not held after the run: the release is made, and its private folder has the figures."""
    monkeypatch.setattr("tsveil.plan.run._in_chunks", lambda *given: True)
    made = released("series", tmp_path)
    assert not (made / "records.parquet").exists()
    assert (made / "release" / "private" / "report.html").is_file()
    outcome = json.loads((made / "outcome.json").read_text())
    assert outcome["curves"] == []
    assert outcome["judged"] in ("holds", "warns")

"""A release made in chunks gives away no more than one made at once: markers, order of rows, bits, rights, and nothing left of the spool."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import tsveil as tv
from engine_files import private, protect_files, published, walks, write_files
from leaks.marks import POINTS, SEED, VALUES_STAY, found_in, marked_frame, markers
from tsveil.core.errors import InputError, TsveilError
from tsveil.core.registry import METHODS
from tsveil.data.write import complete_folder
from tsveil.protect import work
from tsveil.release import publish
from tsveil.release.publish import Outcome

PROTECTED: dict[str, Any] = {"load": {"from": "load.0", "to": f"load.{POINTS - 1}", "kind": "series"}}


def made(kind: Any) -> Any:
    names = {parameter.name for parameter in kind.parameters()}
    return kind.from_settings(
        {key: value for key, value in {"k": 4, "P": 2, "columns": "tariff"}.items() if key in names}
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with marked files in it."""
    folder = tmp_path_factory.mktemp("markedfolder") / "markedfiles"
    return write_files(folder, marked_frame(), 3)


def released(planted: Path, out: Path, method: Any) -> Outcome:
    roles: dict[str, Any] = {"id": "person", "blocks": PROTECTED, "confidential": ["tariff"]}
    return protect_files(planted, method, out, seed=SEED, part=20, chunk=15, file=15, **roles)


@pytest.mark.parametrize("kind", METHODS.values())
def test_no_marker_is_published(planted: Path, tmp_path: Path, kind: Any) -> None:
    release = released(planted, tmp_path / "out", made(kind))
    assert len(list((release.folder / "published" / "data").iterdir())) == 3
    wanted = markers(planted, cells=kind.name not in VALUES_STAY)
    assert found_in(release.folder / "published", wanted) == []
    # Where some values are published by definition, they are in the data alone.
    (release.folder / "published" / "data").rename(tmp_path / "data")
    assert found_in(release.folder / "published", markers(planted, cells=True)) == []
    (tmp_path / "data").rename(release.folder / "published" / "data")
    assert {path.name for path in release.folder.iterdir()} == {"published", "private"}  # the spool is gone
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = found_in(release.folder / "private", markers(planted, cells=False))
    assert any("an identifier" in one for one in found)
    assert any("the seed" in one for one in found)


def test_what_is_private_is_for_its_owner_only(planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the work is done, too: the spool holds all original values."""
    rights = {}
    look, write_piece = work.look, publish.write_piece

    def looking(task: Any) -> Any:
        rights["first"] = Path(task["store"]).stat().st_mode & 0o777
        return look(task)

    def writing(task: Any) -> Any:
        spool = Path(task["store"])
        rights.update({path.name: path.stat().st_mode & 0o777 for path in (spool, spool.parent / "private")})
        return write_piece(task)

    monkeypatch.setattr(work, "look", looking)
    monkeypatch.setattr(publish, "write_piece", writing)
    folder = released(planted, tmp_path / "out", tv.MDAV(k=4)).folder
    assert rights == {"first": 0o700, "spool": 0o700, "private": 0o700}
    assert (folder / "private").stat().st_mode & 0o777 == 0o700
    assert (folder / "published").stat().st_mode & 0o777 == (tmp_path / "out").stat().st_mode & 0o777


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["day", "night", "markedword"])], ids=["open", "closed"])
def test_parquet_says_nothing_of_rows_that_are_not_published(tmp_path: Path, kind: Any) -> None:
    """Words of a categorical column that only suppressed records have."""
    rng = np.random.default_rng(3)
    same = np.repeat(rng.normal(size=(10, 6)).cumsum(axis=1), 6, axis=0) + rng.normal(0, 1e-6, (60, 6))
    alone = np.array([[0, 9, -9, 9, -9, 0]]) * 1.0
    values = np.vstack([same, alone])
    words = pl.Series("tariff", ["day", "night"] * 30 + ["markedword"], dtype=kind)
    frame = pl.DataFrame(values, schema=list("123456")).with_columns(words)
    place = write_files(tmp_path / "in", frame, 2)
    release = protect_files(place, tv.KP(k=6, P=2), tmp_path / "out", seed=1, confidential=["tariff"])
    assert release.card.to_dict()["suppressed"] > 0
    assert "markedword" not in published(release.folder)["tariff"].cast(pl.String).to_list()
    assert found_in(release.folder / "published", {"a word": {b"marked"}}) == []


RECORDS, SEEDS = 150, 6
#: methods without groups of equal values
UNGROUPED = ("rank-swap", "rank-swap-distribution", "rank-swap-buckets", "nlk", "noise", "mic1d")
#: the rank correlation of two independent orders has this standard deviation
SPREAD = 1 / np.sqrt(RECORDS - 1)


@pytest.mark.parametrize("method", [tv.MDAV(k=3), tv.KAnonymousEnvelopes(k=3)], ids=["mdav", "k-envelopes"])
def test_published_rows_are_in_random_order(tmp_path: Path, method: Any) -> None:
    values = np.sort(walks(RECORDS, 4), axis=0)
    frame = pl.DataFrame(values, schema=list("1234")).with_columns(who=pl.Series([f"h{i:03}" for i in range(RECORDS)]))
    place = write_files(tmp_path / "in", frame, 2)
    found, orders = [], set()
    for seed in range(SEEDS):
        folder = protect_files(
            place, method, tmp_path / f"out{seed}", seed=seed, part=60, chunk=40, file=40, id="who"
        ).folder
        order = [int(name[1:]) for name in private(folder)["original"]]  # in the order of the published rows
        orders.add(tuple(order))
        found.append(spearmanr(order, np.arange(RECORDS)).statistic)
    assert len(orders) == SEEDS
    assert max(map(abs, found)) < 5 * SPREAD
    assert abs(np.mean(found)) < 4 * SPREAD / np.sqrt(SEEDS)


@pytest.mark.parametrize("kind", [METHODS[name] for name in METHODS if name not in UNGROUPED])
def test_members_of_a_group_have_the_same_bits(tmp_path: Path, kind: Any) -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(0, 1, (90, 6)) / 3 + 1e6 * rng.integers(0, 2, (90, 1))
    values[::7], values[1::7] = 0.0, -0.0
    values[::11] *= 1e-9
    frame = pl.DataFrame(values, schema=list("123456")).with_columns(tariff=pl.Series(["a", "b", "c"] * 30))
    place = write_files(tmp_path / "in", frame, 2)
    release = protect_files(
        place, made(kind), tmp_path / "out", seed=1, part=40, chunk=25, file=25, confidential=["tariff"]
    )
    known, table = private(release.folder, "groups"), published(release.folder)
    bits = table.select(pl.col(pl.Float64)).to_numpy().view(np.uint64)
    assert not (bits == np.float64(-0.0).view(np.uint64)).any()
    groups = {name: known[name].to_numpy() for name in known.columns if name.startswith("group")}
    assert groups
    for name, labels in groups.items():
        # One column at a time: a group of that column alone.
        own = bits[:, [table.select(pl.col(pl.Float64)).columns.index(name[-1])]] if len(groups) > 1 else bits
        for group in np.unique(labels):
            assert len(np.unique(own[labels == group], axis=0)) == 1
        assert len(np.unique(labels)) < len(labels) / 3


def test_messages_about_bad_cells_quote_no_good_ones(planted: Path, tmp_path: Path) -> None:
    frame = marked_frame()
    bad = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 17).then(None).otherwise(pl.col("load.3")).alias("load.3")
    )
    place = write_files(tmp_path / "in", bad, 2)
    with pytest.raises(InputError) as refused:
        protect_files(place, tv.MDAV(k=4), tmp_path / "out", id="person", blocks=PROTECTED)
    assert "column 'load.3': the value is missing" in str(refused.value)
    (tmp_path / "told").mkdir()
    (tmp_path / "told" / "message.txt").write_text(str(refused.value))
    assert found_in(tmp_path / "told", markers(planted, cells=True)) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("step", [(work, "look"), (work, "protect_part"), (publish, "write_piece")])
def test_a_run_that_fails_leaves_no_spool(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]
) -> None:
    def broken(task: Any) -> Any:
        raise RuntimeError("no more")

    monkeypatch.setattr(*step, broken)
    with pytest.raises(Exception, match="no more"):
        released(planted, tmp_path / "out", tv.MDAV(k=4))
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next(planted: Path, tmp_path: Path) -> None:
    left = tmp_path / ".out.0123abcd.partial" / "spool"
    left.mkdir(parents=True)
    (left / "chunk-0.npy").write_bytes(b"markedid")
    with complete_folder(tmp_path / "other", overwrite=False, marker="x") as place:
        (place / "x").touch()
    released(planted, tmp_path / "out", tv.MDAV(k=4))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "other"}


# -- from Python: the records lie in a folder for temporary files --------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def test_what_python_keeps_of_a_release_in_chunks_goes_with_it(planted: Path, tmp_path: Path, temporary: Path) -> None:
    data = tv.read(planted, id="person", blocks=PROTECTED, confidential=["tariff"], memory=1)
    release = tv.MDAV(k=4).protect(data, seed=SEED, chunk=15)
    (spool,) = temporary.iterdir()
    assert spool.stat().st_mode & 0o777 == 0o700
    folder = release.write(tmp_path / "out")
    assert found_in(folder / "published", markers(planted, cells=True)) == []
    assert {path.name for path in folder.iterdir()} == {"published", "private"}
    assert {path.name for path in tmp_path.iterdir()} == {"temporary", "out"}
    assert list(temporary.iterdir()) == [spool]  # it can be written once more
    del release
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("bad", ["a cell", "a method"])
def test_python_leaves_nothing_of_what_it_refuses(tmp_path: Path, temporary: Path, bad: str) -> None:
    frame = marked_frame()
    if bad == "a cell":
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) == 17).then(None).otherwise("load.3").alias("load.3"))
    data = tv.read(write_files(tmp_path / "in", frame, 2), id="person", blocks=PROTECTED, memory=1)
    with pytest.raises(TsveilError):
        tv.MDAV(k=4 if bad == "a cell" else 400).protect(data, chunk=15)
    gc.collect()
    assert list(temporary.iterdir()) == []

"""`tsveil verify` on files that protect nobody, which it never lets pass, and on files that keep what they promise, which it always does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import tsveil as tv
from tsveil.cli import main

K = 4


def verified(*words: object) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, words)])


def protected(n: int = 60, columns: int = 5, seed: int = 1, k: int = K, decimals: int = 3) -> pl.DataFrame:
    """A k-anonymous table, made here: groups of k rows with one value each, shuffled, with random identifiers."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(2, 10, (n // k, columns)), decimals)[np.arange(n) % (n // k)]
    rng.shuffle(values)
    ids = [f"r{number:016x}" for number in rng.integers(0, 2**63, n)]
    return pl.DataFrame({"id": ids, **{f"v{at}": values[:, at] for at in range(columns)}})


def text(frame: pl.DataFrame, separator: str = ",") -> str:
    return frame.write_csv(separator=separator)


def rows_of(frame: pl.DataFrame) -> pl.Series:
    return pl.Series(np.arange(frame.height))


def replaced(found: str, column: int, row: int, cell: str) -> str:
    """The text of a table with one cell written otherwise."""
    lines = found.splitlines()
    cells = lines[row].split(",")
    cells[column] = cell
    lines[row] = ",".join(cells)
    return "\n".join(lines) + "\n"


BASE = protected()
TEXT = text(BASE)
NAMES = pl.Series([f"name {at}" for at in range(BASE.height)])


def identified(digits: Callable[[int, int], str]) -> str:
    """The table with identifiers made of the number of the person, of whom there are 20, and of a random number of 48 bits."""
    numbers = np.random.default_rng(3).integers(0, 2**48, BASE.height).tolist()
    return text(
        BASE.with_columns(id=pl.Series([f"r{digits(at % 20 + 1, number)}" for at, number in enumerate(numbers)]))
    )


ARABIC = {ord(digit): 0x660 + int(digit) for digit in "0123456789"}
LONG = ["--layout", "long", "--id", "id", "--time", "time", "--value", "value"]


def long_text(
    cell: Callable[[str], str] = str,
    time: Callable[[int, int], str] = lambda at, t: str(t),
    more: Callable[[int], str] = lambda at: "",
) -> str:
    """The same table with a row for each record and time; `cell` and `time` say how the numbers and times of record `at` are written."""
    head = f"id,time,value{',more' if more(0) else ''}\n"
    rows = [(at, name, t, value) for at, (name, *values) in enumerate(BASE.rows()) for t, value in enumerate(values)]
    return head + "".join(f"{name},{time(at, t)},{cell(str(value)) if at == 3 else value}{more(at)}\n" for at, name, t, value in rows)  # fmt: skip


#: what is wrong -> the file, and the options beside --k
BAD: dict[str, tuple[str, list[str]]] = {
    "an extra column of numbers": (text(BASE.with_columns(extra=rows_of(BASE) * 1.5)), []),
    "a column of names": (text(BASE.with_columns(surname=NAMES)), []),
    "names in place of identifiers": (text(BASE.with_columns(id=NAMES)), []),
    "names and incomes": (text(BASE.with_columns(name=NAMES, income=rows_of(BASE) * 7 + 900)), []),
    "an income that is named, a name that is not": (
        text(BASE.with_columns(surname=NAMES, income=rows_of(BASE) % 3)),
        ["--confidential", "income"],
    ),
    "one row dropped from a class": (text(BASE[1:]), []),
    "three rows dropped": (text(BASE[3:]), []),
    "a row that no other has": (text(pl.concat([BASE, BASE[:1].with_columns(v0=pl.lit(999.5))])), []),
    "one value moved": (replaced(TEXT, 2, 7, "12.3456"), []),
    "one value moved by the last digit": (replaced(TEXT, 1, 5, f"{BASE['v0'][4] + 0.001:.3f}"), []),
    "one number written differently": (replaced(TEXT, 1, 5, f"{BASE['v0'][4]:.6f}"), []),
    "one number written with a plus": (replaced(TEXT, 1, 9, f"+{BASE['v0'][8]}"), []),
    "one number in exponential form": (replaced(TEXT, 3, 9, f"{BASE['v2'][8]:.10e}"), []),
    "a missing cell": (replaced(TEXT, 2, 3, ""), []),
    "two missing cells": (replaced(replaced(TEXT, 2, 3, ""), 4, 8, ""), []),
    "a word among numbers": (replaced(TEXT, 2, 3, "secret"), []),
    "infinity": (replaced(TEXT, 2, 3, "inf"), []),
    "not a number": (replaced(TEXT, 2, 3, "NaN"), []),
    "rows sorted by class": (text(BASE.sort("v0", "v1", "v2")), []),
    "one class too small": (text(protected(57, k=3).vstack(BASE.select(pl.all()))), []),
    "no class at all": (text(BASE.with_columns(v0=rows_of(BASE) + 0.25)), []),
    "k larger than the file": (text(BASE[:3]), []),
    "an email": (text(BASE.with_columns(contact=pl.Series([f"a{at}@b.example" for at in range(60)]))), []),
    "the day of birth": (text(BASE.with_columns(born=pl.Series([f"19{at + 20}-01-01" for at in range(60)]))), []),
    "a postcode": (text(BASE.with_columns(postcode=pl.Series([f"D-{at:05d}" for at in range(60)]))), []),
    "a customer number that repeats": (text(BASE.with_columns(customer_id=rows_of(BASE) // 2)), []),
    "a row number": (text(BASE.with_columns(rownames=rows_of(BASE))), []),
    "true and false": (text(BASE.with_columns(flag=rows_of(BASE) % 2 == 0)), []),
    "a column without a name": (text(BASE.with_columns(pl.Series("", rows_of(BASE) * 3)).select(pl.all())), []),
    "whole records where only blocks are alike": (
        text(
            protected(60, 3, 2).hstack(protected(60, 3, 3).drop("id").rename({f"v{at}": f"w{at}" for at in range(3)}))
        ),
        ["--scope", "record", "--block", "one=v0,v1,v2", "--block", "two=w0,w1,w2"],
    ),
    "a unique number with a harmless name": (
        text(BASE.with_columns(weight=rows_of(BASE) * 0.0 + 1 + rows_of(BASE) / 1e9)),
        [],
    ),
    "a unique number outside the block": (
        text(BASE.with_columns(weight=rows_of(BASE) + 0.5)),
        ["--block", "one=v0,v1,v2,v3,v4"],
    ),
    "a second block that is unique": (
        text(BASE.with_columns(w0=rows_of(BASE) + 0.5, w1=rows_of(BASE) * 2.5)),
        ["--block", "one=v0..v4", "--block", "two=w0,w1"],
    ),
    "customer numbers that look like random identifiers": (
        text(BASE.with_columns(id=pl.Series([f"r{4388161847 + at:016d}" for at in range(60)]))),
        [],
    ),
    "identifiers whose first digits are those of the person": (
        identified(lambda person, random: f"{0x9E3779B1 * person % 2**32:08x}{random % 2**32:08x}"),
        [],
    ),
    "identifiers whose last digits are those of the person": (
        identified(lambda person, random: f"{random:012x}{0x9E37 * person % 2**16:04x}"),
        [],
    ),
    "an empty line before one row": (TEXT.replace("\n", "\n\n", 7).replace("\n\n", "\n", 6), []),
    "the persons themselves, named as such": (text(BASE.with_columns(surname=NAMES)), ["--person", "surname"]),
    "a blank behind one number": (replaced(TEXT, 2, 7, f"{BASE['v1'][6]} "), []),
    "a blank at the end of one line": (replaced(TEXT, 5, 7, f"{BASE['v4'][6]} "), []),
    "quotation marks around one number": (replaced(TEXT, 2, 7, f'"{BASE["v1"][6]}"'), []),
    "quotation marks around one number of a table that has others": (
        replaced(text(BASE.with_columns(tariff=pl.lit("day, night"))), 2, 7, f'"{BASE["v1"][6]}"'),
        ["--confidential", "tariff"],
    ),
    "one line that ends as on Windows": (TEXT.replace("\n", "\r\n", 1), []),
    "digits of another alphabet": (replaced(TEXT, 2, 7, str(BASE["v1"][6]).translate(ARABIC)), []),
    "a minus of another kind": (replaced(text(BASE.with_columns(-pl.col("v1"))), 2, 7, f"\u2212{BASE['v1'][6]}"), []),
    "a hidden character behind a number": (replaced(TEXT, 2, 7, f"{BASE['v1'][6]}\u200b"), []),
    "1e3 beside 1000.0": (replaced(text(BASE.with_columns(v1=pl.lit(1000.0))), 2, 7, "1e3"), []),
    "-0.0 beside 0.0": (replaced(text(BASE.with_columns(v1=pl.lit(0.0))), 2, 7, "-0.0"), []),
    "long: one number written differently": (long_text(lambda cell: f"{cell}0"), LONG),
    "long: a time written differently": (long_text(time=lambda at, t: f"{t}.0" if at == 3 else str(t)), LONG),
    "long: a day written differently": (
        long_text(time=lambda at, t: f"2020-01-{t + 1:02d}" + " 00:00" * (at == 3)),
        LONG,
    ),
    "long: names of persons as the time": (long_text(time=lambda at, t: f"name {at}"), LONG),
    "long: a name beside each value": (long_text(more=lambda at: f",name {at}"), LONG),
    "nothing but a header": ("id,v0,v1\n", []),
    "an empty file": ("", []),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_never_passes(what: str, tmp_path: Path) -> None:
    content, options = BAD[what]
    (tmp_path / "file.csv").write_bytes(content.encode())
    found = verified(tmp_path / "file.csv", "--k", K, *options)
    assert found.exit_code in (1, 2), found.output
    assert "Traceback" not in found.output


def test_there_are_enough_of_them() -> None:
    assert len(BAD) >= 30
    assert len(GOOD) >= 30


def plain(n: int, columns: int, seed: int, k: int = K) -> Callable[[Path], tuple[Path, list[str]]]:
    def make(folder: Path) -> tuple[Path, list[str]]:
        protected(n, columns, seed, k).write_csv(folder / "file.csv")
        return folder / "file.csv", []

    return make


def other(
    change: Callable[[pl.DataFrame], pl.DataFrame], *options: str, name: str = "file.csv"
) -> Callable[[Path], tuple[Path, list[str]]]:
    def make(folder: Path) -> tuple[Path, list[str]]:
        frame = change(protected(80, 4, 9))
        (frame.write_parquet if name.endswith("parquet") else frame.write_csv)(folder / name)
        return folder / name, list(options)

    return make


def written(folder: Path, content: str, options: list[str]) -> tuple[Path, list[str]]:
    (folder / "file.csv").write_bytes(content.encode())
    return folder / "file.csv", options


GOOD: dict[str, Callable[[Path], tuple[Path, list[str]]]] = {
    **{f"{n} x {columns}, seed {seed}": plain(n, columns, seed) for n in (20, 60, 200) for columns in (1, 2, 8) for seed in (1, 2)},
    "groups of eight": plain(80, 3, 4, 8),
    "all alike": plain(20, 3, 5, 20),
    "Parquet": other(lambda f: f, name="file.parquet"),
    "no identifiers": other(lambda f: f.drop("id")),
    "other identifiers, which are named": other(lambda f: f.with_columns(id=pl.Series([f"p{at}" for at in range(80)])), "--id", "id"),
    "whole numbers": other(lambda f: f.with_columns(pl.col("^v.*$").round().cast(pl.Int64))),
    "a carried column, which is named": other(
        lambda f: f.with_columns(tariff=pl.Series(["day", "night"] * 40)), "--confidential", "tariff"
    ),
    "two carried columns, which are named": other(
        lambda f: f.with_columns(tariff=pl.Series(["day", "night"] * 40), rooms=pl.Series([1, 2, 3, 4] * 20)),
        "--confidential", "tariff", "--confidential", "rooms",
    ),
    "whole records": other(lambda f: f, "--scope", "record"),
    "each column": other(lambda f: f, "--scope", "column"),
    "columns named after hours": other(lambda f: f.rename({f"v{at}": f"{at}:00" for at in range(4)})),
    "columns named after days": other(lambda f: f.rename({f"v{at}": f"2020-01-0{at + 1}" for at in range(4)})),
    "long": lambda folder: written(folder, long_text(), LONG),
    "long, with days": lambda folder: written(folder, long_text(time=lambda at, t: f"2020-01-{t + 1:02d}"), LONG),
    "all numbers quoted": lambda folder: written(folder, BASE.write_csv(quote_style="always"), []),
    "lines that end as on Windows": lambda folder: written(folder, TEXT.replace("\n", "\r\n"), []),
    "carried texts of which some need quotation marks": other(
        lambda f: f.with_columns(town=pl.Series(["Cork, Ireland", "Bath"] * 40)), "--confidential", "town"
    ),
    "empty lines in a carried text, and after the last row": lambda folder: written(
        folder, text(BASE.with_columns(note=pl.Series(["one\n\ntwo", "three"] * 30))) + "\n\n", ["--confidential", "note"]
    ),
    "one zero": other(lambda f: f.with_columns(v0=pl.lit(0.0))),
    "eight rows that happen to be sorted": lambda folder: written(folder, "v0\n1.5\n1.5\n1.5\n1.5\n2.5\n2.5\n2.5\n2.5\n", []),
    "negative and large": other(lambda f: f.with_columns(pl.col("^v.*$") * -1e6)),
}  # fmt: skip


@pytest.mark.parametrize("what", GOOD)
def test_a_good_file_always_passes(what: str, tmp_path: Path) -> None:
    path, options = GOOD[what](tmp_path)
    found = verified(path, "--k", K, *options)
    assert found.exit_code == 0, found.output


def test_the_verdict_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text(TEXT)
    found = json.loads(verified(tmp_path / "file.csv", "--k", K, "--json").stdout)["assessment"]
    assert found["verdict"] == "holds"
    assert [check["name"] for check in found["checks"]][:3] == ["promise", "coverage", "whole-record"]
    assert found["records"] == 60


def test_what_is_taken_on_trust_is_said(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text(text(BASE.with_columns(tariff=pl.Series(["day", "night"] * 30))))
    found = verified(tmp_path / "file.csv", "--k", K, "--confidential", "tariff", "--id", "id")
    assert "Taken on trust, because you named them: id, tariff" in found.output
    assert "not protected, published unchanged: 'tariff'" in found.output


def test_options_that_change_the_table_are_not_offered(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text(replaced(TEXT, 2, 3, ""))
    refused = verified(tmp_path / "file.csv", "--k", K)
    assert refused.exit_code == 1  # an empty cell is a value of its own, and tells its record apart
    assert "row 3" in refused.output
    assert "missing=" not in refused.output
    (tmp_path / "file.csv").write_text(TEXT)
    for option in ("--missing", "--resample", "--split", "--leave-out", "--transpose"):
        found = verified(tmp_path / "file.csv", "--k", K, option, "drop")
        assert found.exit_code == 2
        assert "No such option" in found.output


def test_persons_come_from_a_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    owners = [f"p{at % 15}" for at in range(90)]
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(90, 3))}, persons=owners)
    folder = tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "out")
    file, map_ = folder / "published" / "data.csv", folder / "private" / "id_map.csv"
    assert verified(file, "--k", 3, "--persons", map_).exit_code == 0
    alone = verified(file, "--k", 3, "--counts", "share")
    assert alone.exit_code == 1
    assert "NOT DECIDED" in alone.output
    # The same file, split otherwise: two persons own everything.
    pl.read_csv(map_).with_columns(person=pl.col("published_row") % 2).write_csv(tmp_path / "two.csv")
    two = verified(file, "--k", 3, "--persons", tmp_path / "two.csv")
    assert two.exit_code == 1
    assert "FAILS" in two.output
    pl.read_csv(map_)[1:].write_csv(tmp_path / "short.csv")
    assert (
        "does not name the person of 1 of 90 rows"
        in verified(file, "--k", 3, "--persons", tmp_path / "short.csv").output
    )
    (tmp_path / "none.csv").write_text("a,b\n1,2\n")
    assert "is no map of persons" in verified(file, "--k", 3, "--persons", tmp_path / "none.csv").output


def test_envelopes_with_a_name_are_not_decided(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(60, 6)).cumsum(1)}, times=range(6))
    file = tv.KAnonymousEnvelopes(k=4).protect(data, seed=1).write(tmp_path / "out") / "published" / "data.csv"
    frame = pl.read_csv(file)
    assert verified(file, "--envelopes", 4).exit_code == 0
    frame.with_columns(surname=pl.Series([f"n{at}" for at in range(frame.height)])).write_csv(tmp_path / "named.csv")
    found = verified(tmp_path / "named.csv", "--envelopes", 4)
    assert found.exit_code == 1
    assert "nobody judged the published column 'surname'" in found.output

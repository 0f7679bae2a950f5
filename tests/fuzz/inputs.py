"""Whole inputs: a data file, a plan and a command line, each a valid one with up to three changes, given to the program in this process.

Whatever they are, the program ends with 0, 1 or 2 and within 20 seconds, says what is wrong in words, and leaves a whole release, or what was there before.
An input is known by its number alone: everything about it is drawn from a stream that begins with it.
"""

from __future__ import annotations

import io
import os
import random
import re
import shlex
import shutil
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from click.testing import CliRunner

from fuzz.targets import SNIPPETS
from tsveil.cli import main

#: seconds after which the program hangs
PATIENCE = 20
#: what every release has
WHOLE = ("published/README.md", "published/report.html", "private/report.html", "private/release.json", "private/id_map.csv")  # fmt: skip
#: a number, a word or a quoted text; in a plan also a list
CELL = re.compile(rb'"[^"\n]*"|[\w.+-]+')

# -- valid inputs -----------------------------------------------------------------------------------------------------


def _series(rng: np.random.Generator, rows: int = 9, points: int = 4) -> list[list[str]]:
    values = rng.gamma(2, 1, (rows, points)).round(2)
    return [
        ["meter", *(f"2024-01-0{t + 1}" for t in range(points))],
        *([f"h{at}", *map(str, row)] for at, row in enumerate(values)),
    ]


def _attributes(rng: np.random.Generator) -> list[list[str]]:
    values = rng.normal(50, 10, (10, 3)).round(1)
    towns = ["north", "south"]
    return [
        ["who", "age", "pay", "rent", "town"],
        *([f"p{at}", *map(str, row), towns[at % 2]] for at, row in enumerate(values)),
    ]


def _long(rng: np.random.Generator) -> list[list[str]]:
    return [
        ["meter", "time", "load"],
        *([f"h{at}", str(t), f"{rng.gamma(2):.2f}"] for at in range(8) for t in range(4)),
    ]


def _csv(rows: list[list[str]], separator: str = ",", decimal: str = ".") -> bytes:
    cells = [[cell.replace(".", decimal) if at and place else cell for place, cell in enumerate(row)] for at, row in enumerate(rows)]  # fmt: skip
    return "".join(separator.join(row) + "\n" for row in cells).encode()


@cache
def tables() -> dict[str, bytes]:
    """File name -> content."""
    rng = np.random.default_rng(20)
    series = _series(rng)
    frame = pl.DataFrame({series[0][at]: [row[at] if not at else float(row[at]) for row in series[1:]] for at in range(5)})  # fmt: skip
    out = io.BytesIO()
    frame.write_parquet(out)
    return {
        "meters.csv": _csv(series),
        "comma.csv": _csv(_series(rng), ";", ","),
        "people.csv": _csv(_attributes(rng)),
        "long.csv": _csv(_long(rng)),
        "meters.parquet": out.getvalue(),
    }


#: method -> parameters that suit the small tables, and whether it is for series only
SETTINGS: dict[str, dict[str, Any]] = {
    "mdav": {"k": 3},
    "v-mdav": {"k": 2, "gamma": 0.2},
    "nlk": {"n": 1, "l": 2, "k": 2},
    "optimal-univariate": {"k": 2},
    "projected": {"k": 3},
    "mic1d": {"kappa": 4},
    "rank-swap": {"p": 20.0},
    "rank-swap-buckets": {},
    "noise": {"sd": 0.3},
    "kp": {"k": 4, "P": 2},
    "k-envelopes": {"k": 3},
}
SERIES_ONLY = ("nlk", "kp", "k-envelopes")
#: words that commands know, to be put where others belong
WORDS = [
    "--overwrite", "--strict", "--json", "--allow", "promise", "whole-record", "--intruder", "none", "file", "person", "--anywhere", "--dry-run", "--engine", "local", "--help",
    "--missing", "drop", "interpolate", "--layout", "wide", "long", "--id", "meter", "who", "--confidential", "town", "--separator", "--decimal", "--resample", "--split",
    "--k", "--seed", "--block", "x=age,pay", "a=2024-01-01..2024-01-03", "--out", "-o", "--method", "noise", "mdav", "--person", "--leave-out", "--number", "--transpose", "--",
]  # fmt: skip
#: a word of a command line has no NUL byte
TEXTS = [snippet.decode("latin-1") for snippet in SNIPPETS if b"\0" not in snippet]
NUMBERS = ["0", "1", "2", "3", "5", "-1", "7.5", "1e-300", "1e308", "0.1", "10", "1000000", "9007199254740993", "10000000000000000000000", "true", "[]", "{}", '""', '"x"', "[1, 2]"]  # fmt: skip
KEYS = ["id", "confidential", "person", "missing", "resample", "split", "layout", "transpose", "k", "seed", "secret", "title", "format", "formulas", "targets", "models", "chunk", "memory", "engine", "block_size", "accepted_risk", "knows", "grouping", "distance", "refine", "rounding"]  # fmt: skip


@dataclass
class Input:
    """What the program is given."""

    number: int
    words: list[str]
    #: file name -> content
    files: dict[str, bytes]

    def __str__(self) -> str:
        same = {f"done/{name}": content for name, content in release().items()} | tables()
        changed = {name: content for name, content in self.files.items() if same.get(name) != content}
        files = "".join(f"\n--- {name}\n{content[:2000]!r}" for name, content in changed.items())
        return f"input {self.number}: tsveil {shlex.join(self.words)}{files}"


def made(number: int) -> Input:
    """An input: a valid one, and some changes."""
    chance = random.Random(f"input {number}")
    valid = _valid(number, chance)
    for _ in range(chance.choices([0, 1, 2, 3], [25, 50, 16, 9])[0]):
        _change(valid, chance)
    return valid


def _valid(number: int, chance: random.Random) -> Input:
    table = chance.choices(list(tables()), [4, 2, 3, 1, 1])[0]
    fitting = [name for name in SETTINGS if table != "people.csv" or name not in SERIES_ONLY]
    method = chance.choice(fitting)
    files = {table: tables()[table]}
    command = chance.choices(["run", "protect", "look", "judge", "list"], [66, 14, 10, 8, 2])[0]
    if command == "run":
        files["plan.toml"] = _plan(table, method, chance)
        return Input(number, ["run", "plan.toml"], files)
    if command == "protect":
        settings = [word for name, value in SETTINGS[method].items() for word in (f"--{name}", str(value))]
        return Input(
            number, ["protect", table, "--out", "release", "--method", method, "--seed", "1", *settings], files
        )
    if command == "look":
        return Input(number, chance.choice([["inspect", table], ["inspect", table, "--json"], ["plan", table]]), files)
    if command == "list":
        return Input(number, [chance.choice(["methods", "attacks", "measures", "promises", "distances"])], files)
    # A release that was made before, and its original.
    files = {"meters.csv": tables()["meters.csv"]} | {f"done/{name}": content for name, content in release().items()}
    published = "done/published/data.csv"
    asked = [
        ["verify", "done"],
        ["verify", published, "--k", "3"],
        ["evaluate", "meters.csv", published, "--truth", "truth.csv"],
        ["attack", "meters.csv", published, "--truth", "truth.csv"],
        ["compare", "done", "done", "--original", "meters.csv"],
    ]
    return Input(number, chance.choice(asked), files)


def _plan(table: str, method: str, chance: random.Random) -> bytes:
    rest = {
        "confidential": '["town"]' if table == "people.csv" and chance.random() < 0.7 else "",
        "models": '["ses"]' if method not in ("kp", "k-envelopes") else "",
        "engine": '"local"' if chance.random() < 0.1 else "",
    }
    lines = ["seed = 1", 'secret = ""', "[input]", f'path = "{table}"']
    lines += [f"confidential = {rest['confidential']}"] if rest["confidential"] else []
    lines += ["[method]", f'name = "{method}"', *(f"{name} = {value}" for name, value in SETTINGS[method].items())]
    lines += ["[evaluate]", f"models = {rest['models']}"] if rest["models"] else []
    lines += ["[run]", f"engine = {rest['engine']}", "chunk = 4"] if rest["engine"] else []
    lines += ["[output]", 'folder = "release"']
    return ("\n".join(lines) + "\n").encode()


@cache
def release() -> dict[str, bytes]:
    """A release of meters.csv: file -> content; made once."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "meters.csv").write_bytes(tables()["meters.csv"])
        ended = CliRunner().invoke(main, ["protect", str(folder / "meters.csv"), "--out", str(folder / "done"), "--k", "3", "--seed", "1"])  # fmt: skip
        assert ended.exit_code == 0, ended.output
        kept = {str(path.relative_to(folder / "done")): path.read_bytes() for path in sorted((folder / "done").rglob("*")) if path.is_file()}  # fmt: skip
    links = pl.read_csv(kept["private/id_map.csv"])
    kept["../truth.csv"] = links.select(original=links["original"], released=links["released"]).write_csv().encode()
    return kept


# -- changes ----------------------------------------------------------------------------------------------------------


def _change(given: Input, chance: random.Random) -> None:
    """One small change of the data, the plan or the words."""
    places = [*given.files, "words"]
    # Of the many files of a release the table and the facts decide.
    known = [place for place in places if place.endswith(("data.csv", "release.json", "id_map.csv", "truth.csv")) or "/" not in place]  # fmt: skip
    place = chance.choice(known if chance.random() < 0.9 else places)
    if place == "words":
        given.words = _other_words(given.words, chance)
    elif place.endswith(".toml"):
        given.files[place] = _other_plan(given.files[place], chance)
    elif place.endswith(".parquet"):
        given.files[place] = _other_bytes(given.files[place], chance)
    else:
        change = chance.choice([_other_cell, _other_cell, _other_rows, _other_bytes])
        given.files[place] = change(given.files[place], chance)


def _other_words(words: list[str], chance: random.Random) -> list[str]:
    at = chance.randrange(len(words))
    new = chance.choice([chance.choice(WORDS), chance.choice(NUMBERS), chance.choice(TEXTS)])
    match chance.choice(["put", "put", "replace", "cut", "twice"]):
        case "put":
            return [*words[: at + 1], new, *words[at + 1 :]]
        case "replace":
            return [*words[:at], new, *words[at + 1 :]]
        case "cut":
            return words[:at] + words[at + 1 :] or words
    return [*words[:at], words[at], *words[at:]]


def _other_plan(text: bytes, chance: random.Random) -> bytes:
    lines = text.decode("utf-8", "replace").split("\n")
    at = chance.randrange(len(lines))
    match chance.choice(["value", "value", "key", "key", "cut", "twice", "bytes"]):
        case "value":
            valued = [place for place, line in enumerate(lines) if "=" in line] or [at]
            at = chance.choice(valued)
            lines[at] = f"{lines[at].split('=')[0]}= {chance.choice(NUMBERS)}"
        case "key":
            value = chance.choice(
                [*NUMBERS, '"drop"', '"interpolate"', '"csv"', '"parquet"', '"joint"', '"keep"', '"wide"']
            )
            lines.insert(at, f"{chance.choice(KEYS)} = {value}")
        case "cut":
            del lines[at]
        case "twice":
            lines.insert(at, lines[at])
        case "bytes":
            return _other_bytes(text, chance)
    return "\n".join(lines).encode()


def _other_cell(text: bytes, chance: random.Random) -> bytes:
    cells = [found.span() for found in CELL.finditer(text)] or [(0, len(text))]
    start, stop = chance.choice(cells)
    number = f"{chance.uniform(-50, 200):.2f}".encode()
    return text[:start] + (chance.choice(SNIPPETS) if chance.random() < 0.4 else number) + text[stop:]


def _other_rows(text: bytes, chance: random.Random) -> bytes:
    rows = text.split(b"\n")
    at = chance.randrange(len(rows))
    match chance.choice(["cut", "twice", "swap", "short"]):
        case "cut":
            del rows[at]
        case "twice":
            rows.insert(at, rows[at])
        case "swap":
            other = chance.randrange(len(rows))
            rows[at], rows[other] = rows[other], rows[at]
        case "short":
            rows[at] = rows[at][: len(rows[at]) // 2]
    return b"\n".join(rows)


def _other_bytes(text: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(text) + 1), chance.randrange(4)
    return text[:at] + chance.choice([chance.choice(SNIPPETS), chance.randbytes(2), b""]) + text[at + size :]


# -- what the program makes of them -------------------------------------------------------------------------------------


class HangError(BaseException):
    """The program was still at work when nobody would wait any longer."""


def compile_all(folder: Path) -> None:
    """Have every method at work once: compiling, which is done once, would be taken for hanging."""
    for table in ("meters.csv", "people.csv"):
        for method in SETTINGS:
            if table == "meters.csv" or method not in SERIES_ONLY:
                files = {table: tables()[table], "plan.toml": _plan(table, method, random.Random(1))}
                tried(Input(-1, ["run", "plan.toml"], files), folder / "warm", patience=600)


@contextmanager
def _waiting(patience: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: file -> content, folder -> nothing."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def tried(given: Input, folder: Path, patience: int = PATIENCE) -> bool:
    """Give an input to the program in a fresh folder; whether it came to a release. An AssertionError says what is wrong."""
    # Two folders deep: what a changed word takes for a place beside the data is seen, too.
    place = folder / "user" / "data"
    for name, content in given.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    before, home = contents(folder), os.getcwd()
    os.chdir(place)
    try:
        with _waiting(patience):
            ended = CliRunner().invoke(main, given.words)
    except HangError:
        raise AssertionError(f"more than {patience} s: {given}") from None
    finally:
        os.chdir(home)
    after = contents(folder)
    shutil.rmtree(folder)
    said = f"{given}\n--- said\n{ended.output[-3000:]}"
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise AssertionError(f"{''.join(traceback.format_exception(ended.exception))}\n{said}") from ended.exception
    assert ended.exit_code in (0, 1, 2), f"exit code {ended.exit_code}: {said}"
    assert "Traceback" not in ended.output, said
    made_new = {name for name in after if name not in before}
    hidden = [name for name in made_new if Path(name).name.startswith(".")]
    assert not hidden, f"left behind: {hidden} {said}"
    if ended.exit_code:
        changed = sorted(made_new | {name for name in before if before[name] != after.get(name, b"gone")})
        assert not changed, f"exit code {ended.exit_code} and yet {changed} {said}"
        return False
    releases = {
        name.removesuffix("/private/release.json") for name in made_new if name.endswith("/private/release.json")
    }
    for name in releases:
        missing = [one for one in WHOLE if f"{name}/{one}" not in after]
        assert not missing or _envelopes(missing), f"a release without {missing} {said}"
        assert any(one.startswith(f"{name}/published/data") for one in after), f"a release without data {said}"
        assert not any(one.startswith(f"{name}/spool") for one in after), f"the spool is left {said}"
    return bool(releases)


def _envelopes(missing: list[str]) -> bool:
    """Envelopes have no identifiers, so nobody can say who is who."""
    return missing == ["private/id_map.csv"]

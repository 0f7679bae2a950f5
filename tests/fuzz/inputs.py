"""Whole inputs: a data file, a plan and a command line, which are valid but for one to three changes, given to the program in this process.

Whatever they are, the program ends with 0, 1 or 2 and within 20 seconds, says what is wrong in words, and leaves a whole release, or what was there before.
An input is known by its number alone: everything about it is drawn from a stream that begins with it.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
import numpy as np
import polars as pl
from click.testing import CliRunner

from fuzz.targets import SNIPPETS
from tsveil.cli import main
from tsveil.plan.plan import Plan

#: seconds of work after which the program counts as hanging; how many times as long it may wait on a busy machine
PATIENCE, BUSY = 20, 10
#: what every release has
WHOLE = ("published/README.md", "published/report.html", "private/report.html", "private/release.json", "private/id_map.csv")  # fmt: skip
#: a number, a word or a quoted text
CELL = re.compile(rb'"[^"\n]*"|[\w.+-]+')
#: a cell with a fraction, and its decimal mark
NUMBER = re.compile(rb"(?<=[,;])-?\d+([.,])\d+(?=[,;\r\n])")

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
        "dates.csv": _csv(
            [[who, f"2/{26 + int(day)}/16" if day.isdigit() else day, load] for who, day, load in _long(rng)]
        ),
        "meters.parquet": out.getvalue(),
    }


def _literals(kind: Any) -> list[str]:
    """The words that a type names."""
    return [word for part in get_args(kind) for word in ([part] if isinstance(part, str) else _literals(part))]


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
#: what stands in a cell, in a plan or on a command line once somebody's program was wrong: bytes that end texts, marks of byte order, digits and signs
#: that are none to a parser of numbers, numbers that only some parsers know, formulas, halves of characters, and very long words
ODD = [
    *SNIPPETS, b"\0", b"7\x005", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n", "\u0661\u0662".encode(), "\uff11\uff12".encode(), "\u00b2".encode(), "\u22125".encode(),
    "1\u00a0000".encode(), "1\u2009000".encode(), b"1_000", b"0x10", b"1e", b"1,5", b"1.5.5", b"Infinity", b"-inf", b"1e-400", b"TRUE", b"", b"''", b'""', b'"a""b"', b'"a\nb"',
    b'"', b"=1+1", b"@SUM(A1)", b"\xed\xa0\x80", b"\xc3", "\u2028".encode(), "\u202e".encode(), "\ud7ff".encode(), "\U0001f600".encode(), b"9" * 400, b"x" * 70_000, b"..", b"/", b"~",
    b"2024-01-01T25:00", b"2024-13-01", b"-1", b"99999999999999999999", b"r0000000000000000", b"None", b"%s", b"{}", b"\\", b"\x1b[31m",
]  # fmt: skip
#: a word of a command line has no NUL byte, and bytes that are not UTF-8 come as halves of surrogates
TEXTS = [odd.decode("utf-8", "surrogateescape") for odd in ODD if b"\0" not in odd and len(odd) < 1000]
WORDS = ["--help", "--", "-o", "-", "--k", "--k=3", "--seed", "--out", "release", "release/", "./release", "done", "plan.toml", "meters.csv", "people.csv", "--no-such", "--json=1"]  # fmt: skip
#: values of a plan of every type there is in TOML, right ones for some key and wrong ones for most
VALUES = [
    "0", "1", "2", "3", "5", "-1", "7.5", "1e-300", "1e308", "0.1", "10", "1000000", "9007199254740993", "10000000000000000000000", "true", "false", "nan", "-inf", "0x1F", "0b11",
    "1_000", "[]", "{}", '""', '"x"', '"2"', "[1, 2]", '["age"]', '["town"]', '["town", "town"]', '[""]', "[[1], [2]]", '[{a = 1}]', '{from = "age", to = "rent"}', '{a = {b = {c = [1]}}}',
    "2024-01-01", "12:00:00", "2024-01-01T00:00:00Z", '"\\u0000"', '"a\\u0000b"', "\'\'\'a\nb\'\'\'", '"\u0661"', "\u0661", '"..' + "/.." * 9 + '"', '"' + "y" * 70_000 + '"', "9" * 5000,
    "[" * 40 + "]" * 40, "[" * 3000 + "]" * 3000, "{a = " * 30 + "1" + "}" * 30, '"\ufeff"', '"=1+1"', '"meters.csv"', '"."', '"/"', '"~"', '"none"', '"all"', '"auto"', '"ses"', '["ses"]', '["holt"]',
]  # fmt: skip
#: values of an option, right ones for some and wrong ones for most
OPTION_VALUES = ["0", "1", "2", "3", "-1", "0.5", "1e9", "meter", "who", "town", "age", "age,pay", "time", "load", "x=age,pay", "a=2024-01-01..2024-01-03", "promise", "whole-record", "file", "done", "meters.csv", "truth.csv", "id", ",", ";", "release", "page.html", "day-first", "month-first", "epoch-ms", "%d/%m/%y", "%"]  # fmt: skip
#: what would start a cluster or a server, which are other tests' business
ELSEWHERE = ("--scheduler", "--master")
#: section -> its keys, and for each the words that it knows; the method's parameters are added
PLAN_KEYS: dict[str, dict[str, list[str]]] = {
    section.name: {
        field.name: [f'"{word}"' for word in _literals(field.type) if word not in ("dask", "spark")]
        for field in msgspec.structs.fields(section.type)
        if field.name not in ("scheduler", "master")
    }
    for section in msgspec.structs.fields(Plan)
    if isinstance(section.type, type) and issubclass(section.type, msgspec.Struct)
}


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
    """An input: a valid one, and some changes, which leave none as it was."""
    chance = random.Random(f"input {number}")
    valid = valid_input(number, chance)
    given = deepcopy(valid)
    for _ in range(chance.choices([1, 2, 3], [70, 20, 10])[0]):
        _change(given, chance)
    while given == valid:
        _change(given, chance)
    return given


def valid_input(number: int, chance: random.Random) -> Input:
    """A valid input."""
    table = chance.choices(list(tables()), [4, 2, 3, 1, 1, 1])[0]
    fitting = [name for name in SETTINGS if table != "people.csv" or name not in SERIES_ONLY]
    method = chance.choice(fitting)
    files = {table: tables()[table]}
    command = chance.choices(["run", "protect", "look", "judge", "list", "study"], [60, 14, 9, 13, 2, 2])[0]
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
    if command == "study":
        files["plan.toml"] = SWEEP.format(table=table).encode()
        return Input(number, chance.choice([["sweep", "plan.toml"], ["run", "plan.toml", "--dry-run"]]), files)
    # A release that was made before, and its original.
    files = {"meters.csv": tables()["meters.csv"]} | {f"done/{name}": content for name, content in release().items()}
    published = "done/published/data.csv"
    asked = [
        ["verify", "done"],
        ["verify", published, "--k", "3"],
        ["verify", published, "--k", "1", "--persons", "done/private/id_map.csv"],
        ["evaluate", "meters.csv", published, "--truth", "truth.csv"],
        ["attack", "meters.csv", published, "--truth", "truth.csv"],
        ["attack", "done", "--other-period", "meters.csv"],
        ["compare", "done", "done", "--original", "meters.csv"],
        ["compare", "done", "done", "--out", "page.html"],
        ["query", published, "--range", "2024-01-02=0..2"],
    ]
    return Input(number, chance.choice(asked), files)


#: a small study
SWEEP = """seed = 5
secret = ""
[input]
path = "{table}"
[sweep]
methods = ["noise"]
[sweep.grid.noise]
sd = [0.1]
[output]
folder = "study"
"""


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
        plan = 'seed = 1\nsecret = ""\n[input]\npath = "meters.csv"\n[method]\nname = "mdav"\nk = 3\n[output]\nfolder = "done"\n'
        (folder / "plan.toml").write_text(plan)
        ended = CliRunner().invoke(main, ["run", str(folder / "plan.toml")])
        assert ended.exit_code == 0, ended.output
        kept = {str(path.relative_to(folder / "done")): path.read_bytes() for path in sorted((folder / "done").rglob("*")) if path.is_file()}  # fmt: skip
    links = pl.read_csv(kept["private/id_map.csv"])
    kept["../truth.csv"] = links.select(original=links["original"], released=links["released"]).write_csv().encode()
    return kept


# -- changes ----------------------------------------------------------------------------------------------------------


def _change(given: Input, chance: random.Random) -> None:
    """One change of the data, the plan or the words."""
    places = [*given.files, "words"]
    # Of the many files of a release the table and the facts decide.
    known = [place for place in places if place.endswith(("data.csv", "release.json", "id_map.csv", "truth.csv", "assessment.json")) or "/" not in place]  # fmt: skip
    # A number of the data that is another one gets furthest.
    table = [place for place in given.files if "/" not in place and not place.endswith(".toml")]
    place = chance.choice(table) if table and chance.random() < 0.3 else chance.choice(known if chance.random() < 0.9 else places)  # fmt: skip
    if place == "words":
        given.words = _other_words(given.words, chance)
        return
    change: Callable[[bytes, random.Random], bytes]
    if chance.random() < 0.1:
        change = _other_file
    elif place.endswith(".toml"):
        change = _other_plan
    elif place.endswith(".parquet"):
        change = chance.choice([_other_column, _other_column, _other_bytes])
    elif place.endswith(".json"):
        change = chance.choice([_other_json, _other_json, _other_bytes])
    else:
        change = chance.choice([_other_number, _other_number, _other_number, _other_cell, _other_rows, _other_bytes])
    given.files[place] = change(given.files[place], chance)


def _other_words(words: list[str], chance: random.Random) -> list[str]:
    at = chance.randrange(len(words))
    new = chance.choice([chance.choice(WORDS), chance.choice(TEXTS), chance.choice(OPTION_VALUES)])
    match chance.choice(["option", "option", "option", "put", "replace", "cut", "twice", "swap"]):
        case "option":
            return [*words, *_option(words[0], chance)]
        case "put":
            return [*words[: at + 1], new, *words[at + 1 :]]
        case "replace":
            return [*words[:at], new, *words[at + 1 :]]
        case "cut":
            return words[:at] + words[at + 1 :] or words
        case "twice":
            return [*words[:at], words[at], *words[at:]]
    other = chance.randrange(len(words))
    changed = list(words)
    changed[at], changed[other] = words[other], words[at]
    return changed


def _option(command: str, chance: random.Random) -> list[str]:
    """An option that a command has, with a value that may be right."""
    found = main.get_command(click.Context(main), command)
    if found is None:
        return [chance.choice(WORDS)]
    options = [
        one
        for one in found.get_params(click.Context(found))
        if isinstance(one, click.Option) and one.opts[0] not in ELSEWHERE
    ]
    chosen = chance.choice(options)
    if chosen.is_flag:
        return [chance.choice([*chosen.opts, *chosen.secondary_opts])]
    if isinstance(chosen.type, click.Choice) and chance.random() < 0.7:
        return [chosen.opts[0], chance.choice([one for one in chosen.type.choices if one not in ("dask", "spark")])]
    return [chosen.opts[0], chance.choice([*OPTION_VALUES, *OPTION_VALUES, *TEXTS])]


def _other_plan(text: bytes, chance: random.Random) -> bytes:
    lines = text.decode("utf-8", "replace").split("\n")
    at = chance.randrange(len(lines))
    match chance.choice(["value", "key", "key", "known", "known", "known", "cut", "twice", "section", "move", "bytes"]):
        case "value":
            valued = [place for place, line in enumerate(lines) if "=" in line] or [at]
            at = chance.choice(valued)
            lines[at] = f"{lines[at].split('=')[0]}= {chance.choice(VALUES)}"
        case "key":  # any value for a key
            section, key = _key(chance)
            lines = _with_key(lines, section, f"{key} = {chance.choice(VALUES)}")
        case "known":  # a value that it knows, if it knows words; else a value that may do
            section, key = _key(chance)
            value = chance.choice(PLAN_KEYS[section].get(key) or VALUES[:16])
            lines = _with_key(lines, section, f"{key} = {value}")
        case "cut":
            del lines[at]
        case "twice":
            lines.insert(at, lines[at])
        case "section":  # a table that is something else
            name = chance.choice([*PLAN_KEYS, "method", "sweep", "x", '"\\u0000"', '""'])
            lines.insert(*chance.choice([(0, f"{name} = {chance.choice(VALUES)}"), (len(lines), f"[{name}]"), (len(lines), f"[[{name}]]"), (len(lines), f"[{name}.a.b]\nc = 1"), (0, f"{name}.a.b = 1")]))  # fmt: skip
        case "move":
            lines.insert(chance.randrange(len(lines)), lines.pop(at))
        case "bytes":
            return _other_bytes(text, chance)
    return "\n".join(lines).encode()


def _key(chance: random.Random) -> tuple[str, str]:
    section = chance.choice([*PLAN_KEYS])
    return section, chance.choice([*PLAN_KEYS[section], *(["k", "seed"] if chance.random() < 0.05 else [])])


def _with_key(lines: list[str], section: str, line: str) -> list[str]:
    """A plan with one more line in a section, in place of the line with that key."""
    if f"[{section}]" not in lines:
        return [*lines, f"[{section}]", line]
    at = lines.index(f"[{section}]") + 1
    stop = next((place for place in range(at, len(lines)) if lines[place].startswith("[")), len(lines))
    kept = [one for one in lines[at:stop] if one.split("=")[0].strip() != line.split("=")[0].strip()]
    return [*lines[:at], line, *kept, *lines[stop:]]


def _other_json(text: bytes, chance: random.Random) -> bytes:
    """One value of a document is another, or is missing."""
    try:
        document = json.loads(text)
    except ValueError:
        return _other_bytes(text, chance)
    new = chance.choice([None, True, 0, -1, 3, 2.5, "", "x", "3", [], {}, [None], {"a": 1}, 10**30, "\0", "\u0661", "holds"])  # fmt: skip
    place, depth = document, 0
    while isinstance(place, (dict, list)) and place:
        key: Any = chance.choice(list(place)) if isinstance(place, dict) else chance.randrange(len(place))
        if depth >= chance.randrange(4) or not isinstance(place[key], (dict, list)) or not place[key]:
            if chance.random() < 0.3:
                del place[key]
            else:
                place[key] = new
            return json.dumps(document).encode()
        place, depth = place[key], depth + 1
    return json.dumps(new).encode()


def _other_column(content: bytes, chance: random.Random) -> bytes:
    """A Parquet file in which a column has another type or name, or rows are missing."""
    try:
        frame = pl.read_parquet(content)
    except pl.exceptions.PolarsError:
        return _other_bytes(content, chance)
    name = chance.choice(frame.columns)
    column, height = frame[name], frame.height
    others: list[Any] = [
        pl.Series([str(value) for value in column]), pl.Series([None] * height), pl.Series([at % 2 == 0 for at in range(height)]), pl.Series([[1.0]] * height), pl.Series([{"a": 1}] * height),
        pl.Series([b"\xff"] * height), pl.Series(["a\0b"] * height), pl.Series(["=1+1"] * height), pl.Series(range(height)), pl.Series([float("inf")] * height),
        pl.Series([float("nan")] * height), pl.Series(["x"] * height).cast(pl.Categorical), pl.Series(range(height)).cast(pl.Date), pl.Series(range(height)).cast(pl.Duration), pl.Series(range(height)).cast(pl.Decimal(20, 3)),
        pl.Series([2**64 - 1] * height, dtype=pl.UInt64), pl.Series([chance.gauss(5, 2) for _ in range(height)]), pl.Series([chance.gauss(5, 2) for _ in range(height)], dtype=pl.Float32),
    ]  # fmt: skip
    match chance.choice(["type", "type", "type", "name", "cut", "rows", "none"]):
        case "type":
            frame = frame.with_columns(chance.choice(others).alias(name))
        case "name":
            new = chance.choice(["", "id", "\0", "\u0661", "x" * 5000, "lo_1", "2024-01-01 ", " "])
            frame = frame.rename({name: new}) if new not in frame.columns else frame
        case "cut":
            frame = frame.drop(name)
        case "rows":
            frame = frame.sample(
                fraction=chance.choice([0.5, 1.0, 2.0]), with_replacement=True, seed=chance.randrange(99)
            )
        case "none":
            frame = frame.clear()
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _other_number(text: bytes, chance: random.Random) -> bytes:
    """Another number in place of one, with the decimal mark that it has."""
    number = f"{chance.uniform(-50, 200):.2f}".encode()
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return _other_cell(text, chance)
    found = chance.choice(numbers)
    return text[: found.start()] + number.replace(b".", found[1]) + text[found.end() :]


def _other_cell(text: bytes, chance: random.Random) -> bytes:
    """Something odd in a cell."""
    cells = [found.span() for found in CELL.finditer(text)] or [(0, len(text))]
    start, stop = chance.choice(cells)
    return text[:start] + chance.choice(ODD) + text[stop:]


def _other_rows(text: bytes, chance: random.Random) -> bytes:
    rows = text.split(b"\n")
    at = chance.randrange(len(rows))
    match chance.choice(["cut", "twice", "swap", "swap", "short", "long", "blank", "comment", "column"]):
        case "cut":
            del rows[at]
        case "twice":
            rows.insert(at, rows[at])
        case "swap":
            other = chance.randrange(len(rows))
            rows[at], rows[other] = rows[other], rows[at]
        case "short":
            rows[at] = rows[at][: len(rows[at]) // 2]
        case "long":
            rows[at] += chance.choice([b",", b",1", b";;;", b",x" * 3000, b" " * 70_000])
        case "blank":
            rows.insert(at, chance.choice([b"", b" ", b",,,,", b'""', b"\0"]))
        case "comment":
            rows.insert(at, b"# made by somebody's program")
        case "column":
            rows = [row + b"," + chance.choice([b"1", b"x", b"", *ODD[:8]]) if row else row for row in rows]
    return b"\n".join(rows)


def _other_bytes(text: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(text) + 1), chance.randrange(4)
    return text[:at] + chance.choice([chance.choice(ODD), chance.randbytes(2), b"\0", b""]) + text[at + size :]


def _other_file(content: bytes, chance: random.Random) -> bytes:
    """The same text as another program would write it; or what is left of it."""
    text = content.decode("utf-8", "surrogateescape")
    lasting = text.encode("utf-8", "replace").decode()
    ways: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\n", b"\r"),
        lambda: content.replace(b"\n", b"\r\n", 1),
        lambda: content.rstrip(b"\n"),
        lambda: content + b"\n" * 40,
        lambda: b"\n\n" + content,
        lambda: lasting.encode("utf-16"),
        lambda: lasting.encode("utf-16-be"),
        lambda: lasting.encode("utf-32"),
        lambda: content + content,
        lambda: content[: chance.randrange(len(content) + 1)],
        lambda: content + b"\0" * chance.choice([1, 512]),
        lambda: b"\0" * len(content),
        lambda: content.replace(b"\n", b"\n\0"),
        lambda: content.replace(b"1", "\u0661".encode()),
        lambda: content.replace(b",", chance.choice([b"\t", b";", b"|", b" , ", b"\0"])),
        lambda: gzip.compress(content, mtime=0),
        lambda: b"",
        lambda: b"x" * 200_000,
        lambda: content.replace(b" ", b"\xa0"),
    ]
    return chance.choice(ways)()


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
    began, clock = time.process_time(), time.monotonic()

    def late(*_: object) -> None:
        left = patience - (time.process_time() - began)
        if left <= 0 or time.monotonic() - clock > BUSY * patience:
            raise HangError
        signal.alarm(math.ceil(left))

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

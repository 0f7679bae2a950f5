"""Mutated files, plans and command lines, 2,000 in every test run; `make fuzz-inputs` tries 100,000 (TSVEIL_INPUTS, from TSVEIL_FIRST_INPUT on)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import vl_convert

from cases import cases
from fuzz.inputs import Input, compile_all, made, tried, valid_input

INPUTS = int(os.environ.get("TSVEIL_INPUTS", "2000"))
#: drawing takes most of the time of a small release: only one input among this many has its charts drawn
DRAWN = cases(50, 10)
#: the first input, to go on where another run ended
FIRST = int(os.environ.get("TSVEIL_FIRST_INPUT", "0"))
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" viewBox="0 0 10 10"></svg>'
#: inputs of one test
BLOCK = 400


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    compile_all(tmp_path_factory.mktemp("compiled"))


@pytest.mark.filterwarnings("default::FutureWarning")  # an old plan key: said, and the run goes on
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("start", range(FIRST, FIRST + INPUTS, BLOCK))
def test_every_input_ends_in_words_and_leaves_all_or_nothing(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = vl_convert.vegalite_to_svg
    numbers = range(start, min(start + BLOCK, FIRST + INPUTS))
    released, wrong = 0, list[str]()
    for number in numbers:
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", drawn if number % DRAWN == 0 else lambda *_, **__: EMPTY)
        try:
            released += tried(made(number), tmp_path / str(number))
        except AssertionError as error:
            wrong.append(str(error))
    print(f"{released} of {len(numbers)} inputs from {start} on came to a release, {len(wrong)} went wrong")
    assert not wrong, f"{len(wrong)} inputs went wrong:\n\n" + "\n\n".join(wrong[:20])
    # Inputs that are all refused at the door would try nothing behind it.
    assert released >= len(numbers) / 10, f"{released} of {len(numbers)} inputs came to a release"


def test_an_input_is_known_by_its_number() -> None:
    for number in range(200):
        assert made(number) == made(number)
    assert len({str(made(number)) for number in range(200)}) > 190


def test_every_input_is_changed_and_all_kinds_of_change_come() -> None:
    inputs = [made(number) for number in range(2000)]
    for given in inputs:
        assert given != valid_input(given.number, random.Random(f"input {given.number}"))
    kinds = {
        "NUL bytes": b"\0",
        "a mark of the byte order": b"\xef\xbb\xbf",
        "line ends of Windows": b"\r\n",
        "digits of other scripts": "\u0661".encode(),
        "a very long line": b"x" * 10_000,
        "lists in lists": b"[[[[",
    }
    for kind, sign in kinds.items():
        assert sum(_has(given, sign) for given in inputs) >= 2, kind


def _has(given: Input, sign: bytes) -> bool:
    """Whether a file that is no Parquet file (there most signs occur anyway) has these bytes."""
    return any(sign in content for name, content in given.files.items() if not name.endswith(".parquet"))

"""Mutated files, plans and command lines, 2,000 in every test run; `make fuzz-inputs` tries 100,000 (TSVEIL_INPUTS)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import vl_convert

from fuzz.inputs import compile_all, made, tried

INPUTS = int(os.environ.get("TSVEIL_INPUTS", "2000"))
#: the first input, to go on where another run ended
FIRST = int(os.environ.get("TSVEIL_FIRST_INPUT", "0"))
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" viewBox="0 0 10 10"></svg>'
#: inputs of one test
BLOCK = 500


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    compile_all(tmp_path_factory.mktemp("compiled"))


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("start", range(FIRST, FIRST + INPUTS, BLOCK))
def test_every_input_ends_in_words_and_leaves_all_or_nothing(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody pulls the plug here, and the disk takes longer than the work.
    monkeypatch.setattr("os.fsync", lambda handle: None)
    drawn = vl_convert.vegalite_to_svg
    numbers = range(start, min(start + BLOCK, FIRST + INPUTS))
    released = 0
    for number in numbers:
        # Drawing takes most of the time of a small release: one input in ten has its charts drawn, the others get an empty one.
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", drawn if number % 10 == 0 else lambda *_, **__: EMPTY)
        released += tried(made(number), tmp_path / str(number))
    # Inputs that are all refused at the door would try nothing behind it.
    assert released >= len(numbers) / 10, f"{released} of {len(numbers)} inputs came to a release"
    print(f"{released} of {len(numbers)} inputs came to a release")


def test_an_input_is_known_by_its_number() -> None:
    for number in range(200):
        assert made(number) == made(number)
    assert len({str(made(number)) for number in range(200)}) > 150

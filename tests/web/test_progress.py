"""What a page is told while a job works: steps within a configuration once they take a while, and for how long nothing new was told."""

from __future__ import annotations

import io
import json
import threading
from time import monotonic

import numpy as np
import pytest

import tsveil as tv
from tsveil.core import progress
from tsveil.measure.uniqueness import singled_out
from tsveil.web import work
from tsveil.web.jobs import Job
from tsveil.web.work import Telling


def test_a_step_within_a_configuration_is_told_once_it_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "A_WHILE", 1_000.0)
    out = io.StringIO()
    telling = Telling(out)
    telling.sweep = {"text": "mdav k=3 is done", "done": 1, "total": 4, "seconds_left": 9.0}
    telling.begin("Trying 4 configurations", 4, np.array([1], dtype=np.int64))
    within = threading.Thread(target=telling.begin, args=("Linking records", 200, np.array([50], dtype=np.int64)))
    within.start()
    within.join()
    telling._step()
    assert out.getvalue() == ""
    monkeypatch.setattr(work, "A_WHILE", 0.0)
    telling._step()
    told = json.loads(out.getvalue().splitlines()[-1])
    assert told == {"text": "mdav k=3 is done: Linking records, 25 %", "done": 1, "total": 4, "seconds_left": 9.0}


def test_a_job_says_for_how_long_nothing_new_was_told() -> None:
    job = Job("1", "look", "2", {}, state="running", since=monotonic() - 7.5)
    assert job.describe()["seconds"] == 7
    job.tell(text="Reading")
    assert job.describe()["seconds"] == 0
    job.since -= 100
    job.tell(state="done")
    job.since -= 100
    assert job.describe()["seconds"] == 0


def test_counting_who_stands_alone_counts_its_sets() -> None:
    counted: list[tuple[str, int, int]] = []

    class Listener:
        def begin(self, text: str, total: int, counter: np.ndarray) -> None:
            self.now = (text, total, counter)

        def end(self) -> None:
            text, total, counter = self.now
            counted.append((text, total, int(counter[0])))

    data = tv.example("load-curves")
    with progress.listening(Listener()):
        singled_out(data, [1, 2], coarse=0.5)
    ((text, total, done),) = counted
    assert text == "Counting who stands alone, known roughly"
    assert total == done > 2


def test_a_sweep_lets_hear_of_the_steps_within_configurations() -> None:
    heard: list[str] = []

    class Listener:
        def begin(self, text: str, total: int, counter: np.ndarray) -> None:
            heard.append(text)

        def end(self) -> None:
            heard.append("")

    tv.sweep(tv.example("food-prices"), ["mdav"], {"mdav": {"k": [2, 3]}}, seed=1, listener=Listener())
    assert any(text.startswith("Linking records") for text in heard)
    assert heard.count("") == len(heard) / 2

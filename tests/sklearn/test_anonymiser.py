"""The step for scikit-learn: in pipelines, cloned, with its parameters, and with errors of our own."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsveil as tv
from frame_cases import long_frame
from tsveil.sklearn import Anonymiser

LONG: dict[str, Any] = {"value": ["y", "count"], "confidential": "tariff", "seed": 5}


def test_it_is_a_step_of_a_pipeline() -> None:
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    values = np.random.default_rng(1).gamma(2, 1, (60, 3))
    line = Pipeline([("scale", StandardScaler()), ("protect", Anonymiser(k=4))])
    safe = line.fit_transform(values)
    assert safe.shape == (60, 3)
    assert min(Counter(map(tuple, safe.tolist())).values()) >= 4
    line.set_params(protect__k=20)
    assert min(Counter(map(tuple, line.fit(values).transform(values).tolist())).values()) >= 20
    inner = make_pipeline(Anonymiser(k=6, seed=2), MinMaxScaler()).fit_transform(values)
    assert min(Counter(map(tuple, inner.tolist())).values()) >= 6
    assert "Anonymiser(k=20)" in repr(line)
    assert "Anonymiser" in line._repr_html_()


def test_it_can_be_cloned_and_fits_a_grid_of_parameters() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    step = Anonymiser(k=7, **LONG)
    copy = clone(step)
    assert copy is not step
    assert copy.get_params() == step.get_params() == {**Anonymiser().get_params(), "k": 7, **LONG}
    assert [clone(step).set_params(**one).k for one in ParameterGrid({"k": [3, 5]})] == [3, 5]


def test_frames_are_protected_as_by_the_function() -> None:
    frame = long_frame()
    assert Anonymiser(**LONG).fit_transform(frame).equals(tv.anonymise(frame, **LONG))
    table = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12) % 5})
    options: dict[str, Any] = {"blocks": {"b": ["a", "b"]}, "k": 3, "seed": 1}
    pd.testing.assert_frame_equal(Anonymiser(**options).fit(table).transform(table), tv.anonymise(table, **options))


def test_whole_numbers_stay_whole() -> None:
    safe = Anonymiser(k=3, seed=1).fit_transform(np.arange(24).reshape(12, 2))
    assert safe.dtype == np.int64


def test_what_cannot_be_done_is_refused_in_words() -> None:
    values = np.ones((6, 2))
    with pytest.raises(tv.errors.ParameterError, match=r"random order.*\n.*confidential="):
        Anonymiser(k=2).fit_transform(values, np.arange(6))
    with pytest.raises(tv.errors.ParameterError, match="no parameter 'kk'"):
        Anonymiser().set_params(kk=3)
    with pytest.raises(tv.errors.ParameterError, match="'id', 'confidential' names columns"):
        Anonymiser(k=2, id="who", confidential="x").fit_transform(values)
    with pytest.raises(tv.errors.ParameterError, match="two dimensions"):
        Anonymiser(k=2).fit_transform(np.ones(6))
    with pytest.raises(tv.errors.ParameterError, match="hold numbers"):
        Anonymiser(k=2).fit_transform(np.array([["a", "b"]]))
    with pytest.raises(tv.errors.ParameterError, match="'k' parameter of MDAV"):
        Anonymiser(k=0).fit_transform(values)


def test_scikit_learn_is_not_needed() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import numpy as np; from tsveil.sklearn import Anonymiser; print(len(Anonymiser(k=2).fit_transform(np.ones((4, 2)))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "4", done.stderr

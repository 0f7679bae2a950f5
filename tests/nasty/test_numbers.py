"""Numbers at the ends of the range: the result is the right one, or the data are refused in words."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.errors import InputError
from tsveil.core.registry import METHODS
from tsveil.core.types import Array
from tsveil.measure.forecast import MODELS
from tsveil.protect.base import ValueMethod
from tsveil.transform.scale import columns_in_range, lift

#: methods that compare squares or sums of values as they are
SQUARED = ("mdav", "v-mdav", "p-sensitive", "nlk", "kp", "k-envelopes", "local-suppression")
BASE = np.random.default_rng(0).gamma(2, 1, (32, 8))


def dataset(values: Array, kind: str = "series") -> tv.Dataset:
    """With a column that p-sensitive needs."""
    tariff = {"tariff": ["a", "b"] * (len(values) // 2)}
    if kind == "series":
        return tv.Dataset.from_arrays({"load": values}, confidential=tariff)
    frame = pl.DataFrame(values[:, :4], schema=list("abcd")).with_columns(tariff=pl.Series(tariff["tariff"]))
    return tv.Dataset.from_frame(frame, blocks={"x": list("abcd")}, confidential=["tariff"])


def made(name: str) -> Any:
    names = {parameter.name for parameter in METHODS[name].parameters()}
    return METHODS[name].from_settings({k: v for k, v in {"k": 4, "P": 2, "n": 2, "l": 5}.items() if k in names})


def result(name: str, values: Array, kind: str) -> tuple[Array, dict[str, float]]:
    """What is published, and the figures that do not depend on the unit."""
    release = made(name).protect(dataset(values, kind), seed=1)
    figures = {key: value for key, value in release.evaluate().to_dict().items() if isinstance(value, float)}
    if release.envelopes:
        assert release.verify().holds
        return np.hstack([release.lo, release.hi]), {k: v for k, v in figures.items() if not k.startswith("value_loss")}
    assert not release.verify().blocks_release
    return release.data.values, figures


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, m in METHODS.items() for kind in sorted(m.takes)])
def test_the_unit_does_not_matter(name: str, kind: str) -> None:
    """Times a power of two no digit changes, so neither does any group or figure: down to 1e-301 and up to where values are refused."""
    values, figures = result(name, BASE, kind)
    for exponent in (-1000, -600, -300, 300, 480, 990):
        if exponent == 990 and name in SQUARED:
            with pytest.raises(InputError, match=r"beyond 1e\+150"):
                result(name, BASE * 2.0**exponent, kind)
            continue
        scaled, same = result(name, BASE * 2.0**exponent, kind)
        assert np.array_equal(np.ldexp(scaled, -exponent), values), exponent
        assert same == pytest.approx(figures, rel=1e-9, abs=1e-9), exponent


def test_forecasts_do_not_depend_on_the_unit() -> None:
    """Found so: squares of squares left the range at 1e90, and two lags were forecast wrongly without a word."""
    for name, model in MODELS.items():
        for exponent in (-1000, -300, 300, 480):
            assert np.allclose(np.ldexp(model(np.ldexp(BASE, exponent)), -exponent), model(BASE), rtol=1e-9), (
                name,
                exponent,
            )


@pytest.mark.parametrize("name", list(METHODS))
def test_differences_that_leave_the_range_are_refused(name: str) -> None:
    values = np.where(np.random.default_rng(1).random((32, 8)) < 0.5, 1.7e308, -1.7e308)
    with pytest.raises(InputError, match=r"values beyond 1e\+(150|300)"):
        made(name).protect(dataset(values))


@pytest.mark.parametrize("name", list(METHODS))
def test_mixed_scales_in_one_table(name: str) -> None:
    values = BASE * 10.0 ** np.random.default_rng(2).integers(-140, 140, BASE.shape)
    release = made(name).protect(dataset(values))
    assert not release.verify().blocks_release
    assert np.isfinite(release.lo if release.envelopes else release.data.values).all()


@pytest.mark.parametrize("name", ["mdav", "v-mdav", "p-sensitive", "projected", "kp", "k-envelopes"])
def test_an_offset_of_a_thousand_million_does_not_change_the_groups(name: str) -> None:
    values = np.round(BASE, 3)
    one, other = (made(name).protect(dataset(values + offset), seed=1) for offset in (0.0, 2.0**30))
    assert np.array_equal(one.groups["load"], other.groups["load"])
    if not one.envelopes:
        assert np.allclose(one.data.values, other.data.values - 2.0**30, atol=1e-6)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", list(METHODS))
def test_negative_zero_is_not_published(tmp_path: Path, name: str, form: Any) -> None:
    """-0.0 and 0.0 are equal numbers but different texts: a sign that one member of a group had would be read off the file."""
    values = np.where(np.random.default_rng(3).random((32, 8)) < 0.5, -0.0, 0.0) + np.where(
        np.random.default_rng(4).random((32, 1)) < 0.3, BASE, -0.0
    )
    release = made(name).protect(dataset(values))
    options: Any = {"measures": {"models": ["ses"]}} if issubclass(METHODS[name], ValueMethod) else {}
    path = release.write(tmp_path / "out", format=form, **options) / "published" / f"data.{form}"
    if form == "csv":
        with path.open(newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell in ("-0.0", "-0")]
    else:
        numbers = pl.read_parquet(path).select(pl.col(pl.Float64)).to_numpy()
        assert not (np.signbit(numbers) & (numbers == 0)).any()


@pytest.mark.parametrize("other", ["5", "5.5"])
@pytest.mark.parametrize("number", ["9007199254740993", "-9007199254740993", "18446744073709551617", "1" + "0" * 40])
def test_whole_numbers_beyond_2_to_the_53_are_refused(tmp_path: Path, number: str, other: str) -> None:
    (tmp_path / "a.csv").write_text(f"id,a,b\nx,{number},1\ny,{other},2\nz,7,3\n")
    with pytest.raises(InputError, match=rf"row 1, column 'a': {number} is too large to be kept exactly"):
        tv.read(tmp_path / "a.csv", id="id", blocks={"v": ["a", "b"]})


def test_large_numbers_that_are_kept_exactly_or_do_not_claim_to_be_whole_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,a,b\nx,{2**60}.0,1e40\ny,5.5,2\nz,{2**70},3\n")
    data = tv.read(tmp_path / "a.csv", id="id", blocks={"v": ["a", "b"]})
    assert data.values.tolist() == [[2.0**60, 1e40], [5.5, 2], [2.0**70, 3]]


def test_whole_numbers_up_to_2_to_the_53_come_back_as_they_are(tmp_path: Path) -> None:
    rows = "".join(f"h{i},{2**53 - i},{-(2**53) + i}\n" for i in range(12))
    (tmp_path / "a.csv").write_text("id,a,b\n" + rows)
    data = tv.read(tmp_path / "a.csv", id="id", blocks={"v": ["a", "b"]})
    folder = tv.RankSwap(p=20).protect(data).write(tmp_path / "out")
    published = pl.read_csv(folder / "published" / "data.csv")
    assert sorted(published["a"]) == sorted(2**53 - i for i in range(12))
    assert sorted(published["b"]) == sorted(-(2**53) + i for i in range(12))


def test_large_whole_numbers_beside_the_blocks_are_kept_as_written(tmp_path: Path) -> None:
    rows = "".join(f"{10**22 + i},{i % 4}.5,{i % 3},{9 * 10**18 + i % 2}\n" for i in range(12))
    (tmp_path / "a.csv").write_text("id,a,b,account\n" + rows)
    data = tv.read(tmp_path / "a.csv", id="id", blocks={"v": ["a", "b"]}, confidential=["account"])
    assert data.ids.cast(pl.String).to_list() == [str(10**22 + i) for i in range(12)]
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out")
    published = pl.read_csv(folder / "published" / "data.csv", infer_schema=False)
    assert set(published["account"]) == {str(9 * 10**18), str(9 * 10**18 + 1)}


def test_a_power_of_two_changes_no_digit() -> None:
    assert lift(BASE) is not None
    assert np.array_equal(lift(BASE), BASE)
    tiny = np.array([[5e-324, -1e-310], [0.0, 1e-300]])
    assert np.array_equal(np.ldexp(lift(tiny), np.frexp(1e-300)[1]), tiny)
    assert np.array_equal(lift(np.zeros((2, 2))), np.zeros((2, 2)))
    mixed = np.array([[1e200, 1.0, 1e-200], [3e200, 2.0, 0.0]])
    one, other = columns_in_range(mixed, mixed / 2)
    assert np.abs(one).max() <= 2
    assert np.array_equal(one[:, 1], mixed[:, 1])
    assert np.array_equal(one / 2, other)

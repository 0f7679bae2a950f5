"""A seed that a person chose does not undo a release: order, identifiers and random values also come from a secret in private/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy.stats import kendalltau

import tsveil as tv
from release_folders import contents
from tsveil.cli import main
from tsveil.core.randomness import secret_name, secret_numbers, secret_order
from tsveil.plan.plan import Plan

PLAN = 'seed = {seed}\n[input]\npath = "meters.csv"\n[method]\nname = "{method}"\n[evaluate]\nmodels = ["ses"]\n[output]\nfolder = "{folder}"\n'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"id": [f"h{i}" for i in range(40)]} | {str(t): rng.gamma(2, 1, 40) for t in range(5)})
    frame.write_csv(tmp_path / "meters.csv")
    return tmp_path


def made(base: Path, folder: str, method: str = "mdav", seed: int = 20241, *words: str) -> Path:
    (base / f"{folder}.toml").write_text(PLAN.format(seed=seed, method=method, folder=folder))
    ended = tsveil("run", base / f"{folder}.toml", *words)
    assert ended.exit_code == 0, ended.output
    return base / folder


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


@pytest.mark.parametrize("method", ["mdav", "noise", "rank-swap"])
def test_a_seed_alone_repeats_nothing_and_the_secret_everything(base: Path, method: str) -> None:
    first, second = (made(base, folder, method) for folder in ("a", "b"))
    files = [pl.read_csv(folder / "published" / "data.csv") for folder in (first, second)]
    assert not set(files[0]["id"]) & set(files[1]["id"])
    assert files[0].drop("id").rows() != files[1].drop("id").rows()
    if method != "mdav":
        assert set(files[0].drop("id").rows()) != set(files[1].drop("id").rows())
    again = made(base, "c", method, 20241, "--secret", str(first / "private" / "secret.txt"))
    assert contents(again) == contents(first)
    other = made(base, "d", method, 20242, "--secret", str(first / "private" / "secret.txt"))
    assert (other / "published" / "data.csv").read_bytes() != (first / "published" / "data.csv").read_bytes()


def test_trying_seeds_does_not_find_the_order(base: Path) -> None:
    """As an intruder would: whoever knows the method tries short seeds until the identifiers agree."""
    seen = set(pl.read_csv(made(base, "a", seed=241) / "published" / "data.csv")["id"])
    for seed in range(500):
        assert not seen & {secret_name(int(number)) for number in secret_numbers(seed, 40)}
    alone = (base / "a.toml").read_text().replace("seed = 241", 'seed = 241\nsecret = ""').replace('"a"', '"e"')
    tv.run(Plan.from_toml(alone), base=base)
    told = set(pl.read_csv(base / "e" / "published" / "data.csv")["id"])
    assert told == {secret_name(int(number)) for number in secret_numbers(241, 40)}  # what the secret prevents


def test_nothing_of_the_secret_is_published(base: Path) -> None:
    folder = made(base, "a")
    secret = (folder / "private" / "secret.txt").read_text().strip()
    assert len(secret) == 32
    for path in (folder / "published").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert (folder / "private").stat().st_mode & 0o077 == 0


def test_order_and_identifiers_say_nothing_of_each_other(base: Path) -> None:
    """Drawn from one stream, the identifiers would sort the rows back."""
    n = 2000
    for seed in range(20):
        order, numbers = secret_order(seed, n), secret_numbers(seed, n)
        assert abs(kendalltau(order, numbers).statistic) < 0.06
        assert abs(kendalltau(np.argsort(order), numbers).statistic) < 0.06
        assert abs(kendalltau(np.arange(n), order).statistic) < 0.06
        assert abs(kendalltau(np.arange(n), numbers).statistic) < 0.06
        following = secret_numbers(seed + 1, n)
        assert abs(kendalltau(numbers, following).statistic) < 0.06
        assert not set(numbers.tolist()) & set(following.tolist())


@pytest.mark.parametrize("text", [None, "", b"\xff\xfe\x00"])
def test_a_secret_that_cannot_be_read_is_refused(base: Path, text: object) -> None:
    place = base / "secret.txt"
    if text is not None:
        place.write_bytes(text if isinstance(text, bytes) else b"")
    (base / "plan.toml").write_text(PLAN.format(seed=1, method="mdav", folder="out"))
    ended = tsveil("run", base / "plan.toml", "--secret", place)
    assert ended.exit_code == 2
    assert "secret" in ended.output
    assert not (base / "out").exists()


def test_a_negative_seed_works(base: Path) -> None:
    for method in ("mdav", "noise", "rank-swap"):
        made(base, f"negative-{method}", method, -1)

"""Methods times parameters: protect, verify, attack and measure each, on all cores, and lose nothing that was finished.

Configurations run in threads, each on one core: kernels and numpy release the interpreter's lock, and threads share the data
and the compiled code (see docs/decisions/0007-sweeps-in-threads.md). The seed of a configuration follows from the study's seed and from
the configuration alone, so neither the order of work nor the number of threads changes a figure.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from tsveil import __version__
from tsveil.assess.limits import Intruder
from tsveil.assess.summary import baseline, kind_of, summed_up
from tsveil.core import progress
from tsveil.core.errors import OutputError, ParameterError, TsveilError
from tsveil.core.randomness import fresh_seed
from tsveil.data.dataset import Dataset
from tsveil.engine.blas import one_blas_thread
from tsveil.engine.local import cores, on_one_core
from tsveil.measure.evaluate import evaluate as measure
from tsveil.release.publish import judge_unwritten_release
from tsveil.study import store
from tsveil.study.grids import Configuration, Grid, choose_configurations
from tsveil.study.study import Study

#: called with the number of finished configurations, of all, the last one's label, and the seconds left (None: not known yet)
OnProgress = Callable[[int, int, str, float | None], object]

#: records with which the options of the measurement are tried before the work
TRIED = 10


def sweep(
    data: Dataset,
    methods: str | Sequence[str] = "all",
    grid: Mapping[str, Grid] | None = None,
    evaluate: Mapping[str, Any] | None = None,
    *,
    intruder: Intruder | None = None,
    folder: str | Path | None = None,
    seed: int | None = None,
    secret: str = "",
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Study:
    """Try methods with many parameters on a data set and measure the risk and the loss of each.

    The risk is that of the verdict against the intruder. A configuration that these data do not allow is a row with its problem in words.

    Parameters
    ----------
    data
        The data set.
    methods
        Names of methods, or "all".
    grid
        Method to its parameters and their values, {"mdav": {"k": [3, 5, 10]}}, or to a list of such grids; a method without one is tried with values that are usual.
    evaluate
        Options of `tsveil.evaluate`.
    intruder
        Whom the release must withstand (`tsveil.assess.limits`); who has the originals of everybody unless given.
    folder
        Where every finished configuration is stored at once: a rerun goes on where the last one stopped, and later sweeps of the same data may add methods and parameters. It holds the seed and is private.
    seed
        A secret; drawn from the operating system unless given.
    secret
        A text that makes a short seed a secret; the folder holds it, too.
    workers
        The number of threads; that of the cores unless given.
    on_progress
        Called with (done, total, label, seconds_left) after each configuration.
    stopped
        When it gives true, no further configuration is begun, and the study has what was finished.

    Returns
    -------
    Study
        A row for each configuration.

    Raises
    ------
    InputError
        If the data, or the study in the folder, cannot be used.
    ParameterError
        If a method, a grid or an option is wrong.

    Examples
    --------
    >>> import tsveil as tv
    >>> study = tv.sweep(tv.example("food-prices"), ["mdav"], {"mdav": {"k": [2, 3]}})
    >>> study.table.select("label", "risk", "attack", "verdict").rows()
    [('mdav k=2', 50.0, 'values', 'holds'), ('mdav k=3', 25.0, 'values', 'holds')]
    """
    options = _checked_options(data, dict(evaluate or {}))
    intruder = intruder or Intruder()
    intruder.check(data.confidential)
    if intruder.other_period:
        raise ParameterError(
            "a sweep takes no file of another period yet: [intruder] other_period is for plans of releases\n"
            "  options: leave it out; a part of the published period stands in for one"
        )
    configurations = choose_configurations(data, methods, grid)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ParameterError(f"The 'workers' parameter of sweep must be an integer of at least 1. Got {workers!r}.")
    place = None if folder is None else Path(folder)
    with store.hold_lock(place) if place is not None else nullcontext():
        about = _about(data, options, intruder, place, seed, secret)
        blank = Study.of([], about)
        keys = {_key(about, configuration): configuration for configuration in configurations}
        rows = {} if place is None else store.read_results(place)
        about["asked"] = len({*rows, *keys})
        if place is not None:
            store.write_about(place, about)
        todo = [key for key in keys if key not in rows]
        watch = _Watch(len(keys), len(keys) - len(todo), on_progress)

        def work(key: str) -> dict[str, Any]:
            with on_one_core():
                row, final = row_of(data, keys[key], blank.release_seed_of(key), options, intruder, key)
            if place is not None and final:
                store.keep(place, row)
            return row

        with progress.step(f"Trying {len(keys)} configurations", total=len(keys)) as counter:
            counter[0] = watch.done
            with closing(_results(work, todo, workers or cores(), stopped)) as results:
                for row in results:
                    rows[row["key"]] = row
                    watch.tell(row["label"])
                    counter[0] = watch.done
        study = Study.of(rows.values(), about)
        if place is not None:
            store.write_parquet(place, study.table)
    return study


def row_of(
    data: Dataset,
    configuration: Configuration,
    seed: int,
    options: Mapping[str, Any],
    intruder: Intruder,
    key: str = "",
) -> tuple[dict[str, Any], bool]:
    """The row of one configuration, and whether it would be the same at another time."""
    row: dict[str, Any] = dict.fromkeys(store.SCHEMA)
    row |= {"key": key, "method": configuration.method, "settings": configuration.text, "label": configuration.label}
    row |= {"figures": "{}"}
    start = time.perf_counter()
    final = True
    try:
        release = configuration.make_method().protect(data, seed=seed)
        promise, verdict = release.guarantee, release.verify()
        row |= {"guarantee": promise.short, "verdict": str(verdict.status)}
        row["bound"] = promise.bound if promise.intruder == "file" else None
        card, assessment = judge_unwritten_release(release, verdict, options, intruder)
        found = summed_up(release, card, assessment, options)
        row |= {"loss": found.loss, "figures": json.dumps(found.figures)}
        row["ladder"] = json.dumps([asdict(attempt) for attempt in assessment.ladder])
        row["stopped"] = "\n".join(f"{c.name}: {c.message}" for c in assessment.stopped_by(["promise"])) or None
    except TsveilError as error:
        row["problem"] = str(error)
    except Exception as error:
        # One configuration must not cost the others; but what was not foreseen (memory, say) may go well another time.
        row["problem"], final = f"unexpected {type(error).__name__}: {error}", False
    row["seconds"] = time.perf_counter() - start
    return row, final


def _results(
    work: Callable[[str], dict[str, Any]], todo: Sequence[str], workers: int, stopped: Callable[[], bool] | None
) -> Generator[dict[str, Any], None, None]:
    """The results in the order in which they are ready.

    No more is begun than there are threads, so that nothing waits in a queue when the work is stopped. What runs then is waited
    for: it is paid for.
    """
    waiting: set[Future[dict[str, Any]]] = set()
    left = iter(todo)
    with one_blas_thread(), ThreadPoolExecutor(max_workers=workers) as pool:
        while True:
            over = stopped is not None and stopped()
            waiting |= {pool.submit(work, key) for key in itertools.islice(left, 0 if over else workers - len(waiting))}
            if not waiting:
                return
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                yield future.result()


class _Watch:
    """Tells how far the work is and how long the rest may take."""

    def __init__(self, total: int, done: int, listener: OnProgress | None) -> None:
        self.total, self.done, self.before = total, done, done
        self.listener = listener
        self.start = time.monotonic()
        if listener is not None:
            listener(done, total, "", None if done < total else 0.0)

    def tell(self, label: str) -> None:
        self.done += 1
        each = (time.monotonic() - self.start) / (self.done - self.before)
        if self.listener is not None:
            self.listener(self.done, self.total, label, each * (self.total - self.done))


def _checked_options(data: Dataset, options: dict[str, Any]) -> dict[str, Any]:
    """The options of the measurement, refused before the work rather than in every row."""
    try:
        json.dumps(options)
    except TypeError:
        raise ParameterError(
            "The 'evaluate' parameter of sweep must be plain options that can be written down. Give models by their names."
        ) from None
    few = data.take(range(min(data.n, TRIED)))
    try:
        if options and "truth" not in options:
            measure(few, few, **({"models": "fitting"} if data.series else {}) | options)
    except TypeError as error:
        raise ParameterError(f"The 'evaluate' parameter of sweep has an unknown option: {error}") from None
    if "truth" in options:
        raise ParameterError("The 'evaluate' parameter of sweep has no option 'truth': a sweep knows its own records.")
    return options


def _about(
    data: Dataset,
    options: Mapping[str, Any],
    intruder: Intruder,
    folder: Path | None,
    seed: int | None,
    secret: str,
) -> dict[str, Any]:
    """What the study is of; in a folder with a study it must be of the same, but that each sweep says what the intruder knows."""
    about = {
        "data": repr(data),
        "kind": kind_of(data),
        "records": data.n,
        "fingerprint": fingerprint(data),
        "evaluate": dict(options),
        "intruder": {"knows": intruder.knows, "knows_carried": list(intruder.knows_carried)},
        "baseline": asdict(baseline(data, intruder)),
        "version": __version__,
    }
    before = None if folder is None else store.about_in(folder)
    if before is None:
        return about | {"seed": str(fresh_seed() if seed is None else seed), "secret": secret}
    words = {
        "fingerprint": "other data",
        "evaluate": "other options of evaluate",
        "version": "another version of tsveil",
    }
    differs = [words[name] for name in words if before.get(name) != about[name]]
    carried = before.get("intruder", {}).get("knows_carried", [])
    differs += ["an intruder who knows other carried columns"] if carried != intruder.knows_carried else []
    differs += ["another seed"] if seed is not None and str(seed) != before["seed"] else []
    if differs:
        raise OutputError(
            f"{folder} holds a study of {' and '.join(differs)}; its figures cannot stand in one table with new ones\n"
            "  options: another folder"
        )
    return about | {"seed": before["seed"], "secret": before.get("secret", "")}


def _key(about: Mapping[str, Any], configuration: Configuration) -> str:
    parts = [about["fingerprint"], about["evaluate"], about["version"], about["seed"]]
    text = json.dumps([*parts, configuration.method, configuration.text], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def fingerprint(data: Dataset) -> str:
    """A hash of everything in a data set that protection and measurement see.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> fingerprint(data) == fingerprint(tv.example("food-prices")), fingerprint(data) == fingerprint(data.take([0, 1, 2]))
    (True, False)
    """
    found = hashlib.sha256(data.values.tobytes())
    blocks = [(b.name, b.columns, None if b.times is None else b.times.tolist()) for b in data.blocks]
    found.update(json.dumps([blocks, data.id, data.confidential, data.missing, data.values.shape]).encode())
    found.update(data.others.write_json().encode())
    if data.labels:
        found.update(msgspec.json.encode(data.labels))
    return found.hexdigest()

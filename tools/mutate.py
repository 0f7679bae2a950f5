"""Mutation testing of protect/ and guarantee/: small faults are put into the code, and the tests must notice.

    python tools/mutate.py [--per-module 8] [--seed 0] [--jobs 2] [MODULE ...]

Cosmic-ray makes the mutants (a comparison turned, a number changed, a branch negated, ...); a random sample of them is tried for
each module, so that a run has bounds. Every mutant is tried in a forked child of a process that has loaded all libraries: starting
afresh would take longer than most tests. No file is changed. A child runs the examples of the docstrings, then the tests of the
module, the quickest first, and ends with the first failure; tests that take longer than LONGEST are not waited for. One mutant
of each module changes nothing and must survive.
Mutants in type annotations are left out, because annotations are never evaluated here, and so are cosmic-ray's two operators that need
to be told names of variables; nothing else is. Prints every survivor and a table, and exits 1 below --least percent.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tsveil"
#: of processor time: a test that takes longer is not run for mutants, which can only lower the share that is killed
LONGEST = 4.0
#: a mutant may use this many times the processor time of its tests, and so many seconds more
PATIENCE, SLACK = 3, 30
#: how a child ends
PASSED, NOTICED, NOT_RUN = 0, 1, 70
#: seconds of a clock for each second of processor time, before a child that only waits is given up
BUSY = 30

CONTRACT = [
    "tests/protect/test_parameters.py",
    "tests/protect/test_progress.py",
    "tests/test_registry.py",
    "tests/test_release.py",
]
MDAV = ["tests/property/test_mdav.py", "tests/protect/test_mdav_exact.py", "tests/golden/test_microaggregation.py"]
GROUPS = [*MDAV, "tests/protect/test_microaggregation.py", "tests/protect/test_variable.py", *CONTRACT]
REFINE = ["tests/protect/test_refine.py"]
KP = [
    "tests/protect/test_parameters.py",
    "tests/guarantee/test_kp.py",
    "tests/test_interval_release.py",
    "tests/protect/test_kp.py",
    "tests/measure/test_kp.py",
]
CHUNKS = ["tests/guarantee/test_chunks.py", "tests/guarantee/test_kp.py", "tests/guarantee/test_p_sensitive.py"]
SWAP = ["tests/protect/test_rank_swap.py", *CONTRACT]
#: module -> its tests; what is not listed has a test file of its own name
TESTS = {
    "protect/_mdav_exact": [*MDAV, *REFINE],
    "protect/_mdav_parts": [*MDAV, *REFINE, "tests/protect/test_variable.py"],
    "protect/_refine": REFINE,
    "protect/mdav": [*GROUPS, *REFINE],
    "protect/microaggregation": GROUPS,
    "protect/representative": GROUPS,
    "protect/base": ["tests/protect/test_base.py", "tests/nasty/test_numbers.py", *CONTRACT],
    "protect/kp": KP,
    "protect/envelopes": KP,
    "protect/intervals": KP,
    "protect/rank_swap_buckets": SWAP,
    "protect/rank_swap_distribution": SWAP,
    "protect/swapping": SWAP,
    "protect/sensitive": ["tests/protect/test_variable.py", *CONTRACT],
    "protect/vmdav": ["tests/protect/test_variable.py", *CONTRACT],
    "protect/nlk": ["tests/protect/test_nlk.py", "tests/measure/test_nlk.py", *CONTRACT],
    "guarantee/base": [
        "tests/guarantee/test_base.py",
        "tests/guarantee/test_chunks.py",
        "tests/guarantee/test_k_anonymity.py",
        "tests/guarantee/test_kp.py",
    ],
    "guarantee/chunks": CHUNKS,
    "guarantee/counting": CHUNKS,
    "guarantee/faults": CHUNKS,
    "guarantee/verify": CHUNKS,
    "guarantee/p_sensitive": ["tests/guarantee/test_p_sensitive.py", "tests/protect/test_variable.py"],
    "guarantee/kp": KP,
    "guarantee/about_envelopes": KP,
    "attack/agreement": ["tests/attack/test_probabilistic.py"],
    "guarantee/nlk": [
        "tests/guarantee/test_nlk.py",
        "tests/guarantee/test_chunks.py",
        "tests/protect/test_nlk.py",
        "tests/measure/test_nlk.py",
    ],
}


class NotRunError(Exception):
    """The tests could not be run, so that nothing is known of a mutant."""


class Mutant(NamedTuple):
    """A changed text of a module."""

    module: str
    operator: str
    line: int
    text: str
    change: str


def modules() -> list[str]:
    """protect/ and guarantee/, as "protect/mdav"."""
    found = [path for folder in ("protect", "guarantee") for path in sorted((SOURCE / folder).glob("*.py"))]
    return [str(path.relative_to(SOURCE).with_suffix("")) for path in found if path.stem != "__init__"]


def tests_of(module: str) -> list[str]:
    """The tests that look at a module."""
    kind, name = module.split("/")
    return TESTS.get(module, [f"tests/{kind}/test_{name}.py", *CONTRACT])


def examples_of(module: str) -> list[str]:
    """The modules whose examples look at a module: itself and those of the two folders that import it."""
    text = "tsveil." + module.replace("/", ".")
    users = [m for m in modules() if f"{text} import" in (SOURCE / f"{m}.py").read_text(encoding="utf-8")]
    return [m.replace("/", ".") for m in (module, *users)]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def annotated(text: str) -> set[int]:
    """Offsets of the characters of annotations, and of what only type checkers read."""
    found: set[int] = set()
    starts = _line_starts(text)
    for node in ast.walk(ast.parse(text)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts += list(node.body)
        for part in parts:
            if isinstance(part, ast.AST) and hasattr(part, "end_lineno"):
                first = starts[part.lineno - 1] + part.col_offset  # type: ignore[attr-defined]
                last = starts[part.end_lineno - 1] + part.end_col_offset  # type: ignore[attr-defined]
                found |= set(range(first, last))
    return found


def sampled(module: str, count: int, seed: int) -> list[Mutant]:
    """So many mutants of a module, chosen at random among all outside of annotations."""
    import parso.python.tree  # noqa: F401  (cosmic-ray's operators fail to load unless parso is there first)
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    text = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    starts = _line_starts(text)
    left_out = annotated(text)
    nodes = list(ast_nodes(get_ast(text)))
    places: list[tuple[str, int, int]] = []
    for name in sorted(plugins.operator_names()):
        kind = plugins.get_operator(name)
        if kind.arguments():
            continue
        found = [place for node in nodes for place in kind().mutation_positions(node)]
        for number, ((line, column), _) in enumerate(found):
            if starts[line - 1] + column not in left_out:
                places.append((name, number, line))
    random.Random(f"{seed} {module}").shuffle(places)
    made: list[Mutant] = []
    for name, number, line in places:
        if len(made) == count:
            break
        changed = mutate_code(text, plugins.get_operator(name)(), number)
        if changed is None or changed == text:
            continue
        lines = difflib.unified_diff(text.splitlines(), changed.splitlines(), lineterm="", n=0)
        shown = "\n".join(part for part in lines if not part.startswith(("---", "+++", "@@")))
        made.append(Mutant(module, name.removeprefix("core/"), line, changed, shown))
    return made


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutated text when the module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = "tsveil." + mutant.module.replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Only for that one module."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, SOURCE / f"{self.mutant.module}.py", loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutated text."""
        exec(compile(self.mutant.text, str(module.__file__), "exec"), module.__dict__)


def load_all() -> None:
    """Import what is slow to import, so that children need not."""
    import altair  # noqa: F401
    import click.testing  # noqa: F401
    import hypothesis.extra.numpy  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.spatial  # noqa: F401

    sys.path.insert(0, str(ROOT / "tests"))
    for path in sorted((SOURCE / "_kernels").glob("*.py")):
        importlib.import_module(f"tsveil._kernels.{path.stem}")


class Quickest:
    """A plugin of pytest: sorts the tests by the time they took without a mutant, or notes that time."""

    def __init__(self, times: dict[str, float], noting: bool) -> None:
        self.times, self.noting, self.began = times, noting, 0.0

    def pytest_sessionstart(self) -> None:
        """A failure is enough: no smaller example is looked for, and none is kept for the next run."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", parent=settings.get_profile("tsveil"), phases=phases, database=None)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """The quickest first, the longest not at all."""
        if not self.noting:
            items[:] = sorted((i for i in items if self.times[i.nodeid] < LONGEST), key=lambda i: self.times[i.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the time."""
        self.times[report.nodeid] = self.times.get(report.nodeid, 0.0) + time.process_time() - self.began
        self.began = time.process_time()

    def pytest_runtest_logstart(self) -> None:
        """Begin to count."""
        self.began = time.process_time()


def examples_pass(names: list[str]) -> bool:
    """Run the examples of docstrings, warnings being errors as in the suite. Pytest would load the files past the mutant."""
    import doctest
    import warnings

    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.FAIL_FAST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = (importlib.import_module(f"tsveil.{name}") for name in names)
        return all(doctest.testmod(module, optionflags=flags).failed == 0 for module in loaded)


def passes(examples: list[str], tests: list[str], mutant: Mutant | None, plugin: Quickest) -> bool:
    """Run examples and tests in this process, with a mutant in place, and say whether all pass; NotRunError if they cannot be run."""
    import pytest

    for name in [n for n in sys.modules if n.startswith("tsveil") and not n.startswith("tsveil._kernels")]:
        del sys.modules[name]
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    options = ["-x", "-p", "no:xdist", "--assert=plain", "--tb=no"]
    if not examples_pass(examples):
        return False
    code = pytest.main([*options, *tests], plugins=[plugin]) if tests else pytest.ExitCode.OK
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise NotRunError(f"pytest ended with {code!r}")
    return code == pytest.ExitCode.OK


def tried(mutant: Mutant | None, examples: list[str], tests: list[str], times: dict[str, float], notes: Path) -> int:
    """Start a child that tries a mutant, or that notes the times of tests without one; gives its process number."""
    child = os.fork()
    if child == 0:
        code = NOTICED
        try:
            os.setsid()
            os.chdir(ROOT)
            plugin = Quickest(times, noting=mutant is None)
            if mutant is not None:
                usual = sum(t for name, t in times.items() if t < LONGEST and name.split("::")[0] in tests)
                most = int(PATIENCE * usual) + SLACK
                resource.setrlimit(resource.RLIMIT_CPU, (most, most))
                signal.alarm(BUSY * most)
            code = PASSED if passes(examples, tests, mutant, plugin) else NOTICED
            if mutant is None:
                notes.write_text(json.dumps(plugin.times), encoding="utf-8")
        except NotRunError:
            code = NOT_RUN
        except BaseException:  # (a module that cannot even be imported was noticed)
            code = NOTICED
        os._exit(code)
    return child


def finished(work: Sequence[Callable[[], int]], jobs: int) -> Iterator[tuple[int, bool]]:
    """Start children, a few at a time; as each one ends, its number and whether it found nothing.

    What a child has started ends with it. One that was ended by a signal, for its use of time, has noticed.
    """
    running: dict[int, int] = {}
    waiting = list(range(len(work)))
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop(0)
            running[work[number]()] = number
        child, status = os.waitpid(-1, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        if code == NOT_RUN:
            sys.exit("the tests of a mutant could not be run")
        yield running.pop(child), code == PASSED


def warmed(chosen: list[str], jobs: int, folder: Path) -> dict[str, float]:
    """Run all without a mutant: everything must pass, and compiled kernels are kept for the children. Gives the time of each test."""
    examples = sorted({name for module in chosen for name in examples_of(module)})
    runs: list[tuple[list[str], list[str]]] = [(examples, [])]
    runs += [([], [test]) for test in sorted({test for module in chosen for test in tests_of(module)})]
    work = [partial(tried, None, *run, {}, folder / f"{at}.json") for at, run in enumerate(runs)]
    times: dict[str, float] = {}
    for at, passed in finished(work, jobs):
        if not passed:
            sys.exit(f"these fail without any mutant: {' '.join(runs[at][1]) or 'examples'}")
        times |= json.loads((folder / f"{at}.json").read_text(encoding="utf-8"))
    return times


def controlled(chosen: list[str], jobs: int, times: dict[str, float], folder: Path) -> None:
    """A mutant of each module that changes nothing must survive: otherwise its kills would mean nothing."""
    texts = [(SOURCE / f"{module}.py").read_text(encoding="utf-8") for module in chosen]
    same = [Mutant(module, "none", 0, text, "") for module, text in zip(chosen, texts, strict=True)]
    if wrong := [m for m, killed in zip(chosen, run(same, jobs, times, folder).values(), strict=True) if killed]:
        sys.exit(f"these are noticed although nothing was changed: {' '.join(wrong)}")


def run(sample: list[Mutant], jobs: int, times: dict[str, float], folder: Path) -> dict[int, bool]:
    """Try all mutants; number -> whether it was killed."""
    work = [partial(tried, m, examples_of(m.module), tests_of(m.module), times, folder / "unused") for m in sample]
    killed: dict[int, bool] = {}
    for number, passed in finished(work, jobs):
        killed[number] = not passed
        lived = sample[number]
        if passed and lived.change:
            print(f"survived: {lived.module}.py:{lived.line} {lived.operator}\n{lived.change}\n", flush=True)
    return dict(sorted(killed.items()))


def main() -> None:
    """Sample, try and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=modules(), metavar="MODULE")
    parser.add_argument("--per-module", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=85.0)
    given = parser.parse_args()
    load_all()
    sample = [mutant for module in given.modules for mutant in sampled(module, given.per_module, given.seed)]
    print(f"{len(sample)} mutants of {len(given.modules)} modules", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times = warmed(given.modules, given.jobs, folder)
        controlled(given.modules, given.jobs, times, folder)
        killed = run(sample, given.jobs, times, folder)
    print("| module | mutants | killed |\n| --- | ---: | ---: |")
    for module in given.modules:
        own = [killed[number] for number, mutant in enumerate(sample) if mutant.module == module]
        print(f"| {module} | {len(own)} | {sum(own)} |")
    share = 100 * sum(killed.values()) / max(len(killed), 1)
    for kind in ("protect", "guarantee"):
        own = [killed[number] for number, mutant in enumerate(sample) if mutant.module.startswith(kind)]
        print(f"{kind}/: killed {sum(own)} of {len(own)}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{(used.ru_utime + used.ru_stime) / 60:.0f} minutes of processor time")
    print(f"killed {sum(killed.values())} of {len(killed)}: {share:.1f} %")
    sys.exit(share < given.least)


if __name__ == "__main__":
    main()

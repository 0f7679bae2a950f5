"""Mutation testing of protect/ and guarantee/: small faults are put into the code, and the tests must notice.

    python tools/mutate.py [--per-module 12] [--seed 0] [--jobs 2] [MODULE ...]

Cosmic-ray makes the mutants (a comparison turned, a number changed, a branch negated, ...); a random sample of them is tried for
each module, so that a run has bounds. Every mutant is tried in a forked child of a process that has loaded all libraries and
compiled kernels: starting afresh would take longer than most tests. No file is changed. Mutants in type annotations are left out,
because annotations are never evaluated here; nothing else is. Prints a table and every survivor, and exits 1 below --least percent.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.abc
import importlib.util
import os
import random
import resource
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tsveil"
#: of CPU: a mutant that loops for ever is noticed by its use of the machine, not by a clock that others slow down
SECONDS = 240
#: pytest wants to rewrite its plugins before anyone imports them
ALREADY = "ignore::pytest.PytestAssertRewriteWarning"

GENERAL = ["tests/test_registry.py", "tests/test_release.py"]
MDAV = ["tests/property/test_mdav.py", "tests/protect/test_mdav_exact.py", "tests/golden/test_microaggregation.py"]
KP = ["tests/guarantee/test_kp.py", "tests/test_interval_release.py", "tests/protect/test_kp.py"]
#: module -> its tests, the quickest first; what is not listed has a test file of its own name
TESTS = {
    "protect/_mdav_exact": MDAV,
    "protect/_mdav_parts": MDAV,
    "protect/mdav": [*MDAV, *GENERAL],
    "protect/microaggregation": [*MDAV, *GENERAL],
    "protect/representative": [*MDAV, *GENERAL],
    "protect/base": [*GENERAL, "tests/test_cli.py"],
    "protect/kp": KP,
    "protect/envelopes": KP,
    "protect/intervals": KP,
    "protect/rank_swap_buckets": ["tests/protect/test_rank_swap.py"],
    "protect/rank_swap_distribution": ["tests/protect/test_rank_swap.py"],
    "protect/sensitive": ["tests/protect/test_variable.py"],
    "protect/vmdav": ["tests/protect/test_variable.py"],
    "guarantee/base": ["tests/guarantee/test_k_anonymity.py", "tests/guarantee/test_kp.py"],
    "guarantee/p_sensitive": ["tests/protect/test_variable.py"],
    "guarantee/nlk": ["tests/guarantee/test_nlk.py", "tests/protect/test_nlk.py"],
}


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
    """The tests that look at a module. Its own examples are not among them: pytest would load the file past the mutant."""
    kind, name = module.split("/")
    own = [f"tests/{kind}/test_{name}.py"] if (ROOT / f"tests/{kind}/test_{name}.py").exists() else []
    return TESTS.get(module, [*own, *GENERAL])


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def annotations(text: str) -> set[int]:
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
    left_out = annotations(text)
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


def passes(tests: Sequence[str], mutant: Mutant | None) -> bool:
    """Run tests in this process, with a mutant in place, and say whether all pass."""
    import pytest

    for name in [n for n in sys.modules if n.startswith("tsveil") and not n.startswith("tsveil._kernels")]:
        del sys.modules[name]
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    return pytest.main(["-x", "-p", "no:xdist", "-W", ALREADY, *tests]) == 0


def tried(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """Start a child that tries a mutant, and give its process number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.chdir(ROOT)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            code = 0 if passes(tests, mutant) else 1
        except BaseException:  # (whatever goes wrong, the mutant was noticed)
            code = 1
        os._exit(code)
    return child


def warmed(chosen: list[str]) -> None:
    """Run the tests of all modules unchanged: they must pass, and kernels are compiled and cached for the children."""
    for tests in sorted({tuple(tests_of(module)) for module in chosen}):
        child = tried(None, tests)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            sys.exit(f"the tests fail without any mutant: {' '.join(tests)}")


def run(sample: list[Mutant], jobs: int) -> dict[int, bool]:
    """Try all mutants, a few at a time; number -> whether it was killed."""
    killed: dict[int, bool] = {}
    running: dict[int, int] = {}
    waiting = list(range(len(sample)))
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop(0)
            running[tried(sample[number], tests_of(sample[number].module))] = number
        child, status = os.waitpid(-1, 0)
        number = running.pop(child)
        killed[number] = os.waitstatus_to_exitcode(status) != 0
        if not killed[number]:
            lived = sample[number]
            print(f"survived: {lived.module}.py:{lived.line} {lived.operator}\n{lived.change}\n", flush=True)
    return killed


def main() -> None:
    """Sample, try and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=modules(), metavar="MODULE")
    parser.add_argument("--per-module", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=85.0)
    given = parser.parse_args()
    load_all()
    sample = [mutant for module in given.modules for mutant in sampled(module, given.per_module, given.seed)]
    print(f"{len(sample)} mutants of {len(given.modules)} modules", flush=True)
    warmed(given.modules)
    killed = run(sample, given.jobs)
    print("| module | mutants | killed |\n| --- | ---: | ---: |")
    for module in given.modules:
        own = [killed[number] for number, mutant in enumerate(sample) if mutant.module == module]
        print(f"| {module} | {len(own)} | {sum(own)} |")
    share = 100 * sum(killed.values()) / max(len(killed), 1)
    print(f"killed {sum(killed.values())} of {len(killed)}: {share:.1f} %")
    sys.exit(share < given.least)


if __name__ == "__main__":
    main()

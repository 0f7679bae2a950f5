"""Methods, promises, attacks, measures and distances are known by the registry, and not by name or class anywhere else.

Of every module in src, what is looked for in its syntax tree (docstrings apart) is

- an import of the file of a registered class, or of something in it;
- a text that is equal to a registered name. Names that are ordinary words as well (WORDS) count only where a name is meant: inside the index or the
  arguments of a registry, compared with or given to something called name, method, attack, promise, measure or distance;
- `isinstance`, `issubclass`, `type(...) is` and `case` with a registered class;
- `hasattr` and `getattr` with an attribute that registered classes have and their bases have not.

The file of a class may do all that with its own class and name, and so may core/registry.py and reproduce/, which reruns what papers did with
certain methods. Everything else is an exception, and needs a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import polars as pl

import tsveil
from tsveil.core import registry
from tsveil.core.registry import METHODS, Registry, object_at, starting

SOURCE = Path(tsveil.__file__).parent
KINDS: list[Registry] = [kind for kind in vars(registry).values() if isinstance(kind, Registry)]

#: registered names that are ordinary words with other meanings
WORDS = {
    "none", "values", "shape", "distance", "envelopes", "fuzzy", "projected", "noise", "probabilistic", "alignment", "warping", "euclidean", "releases",
}  # fmt: skip
#: what is called like this holds a registered name
HOLDERS = {"name", "method", "attack", "promise", "measure", "distance"}
REGISTRIES = {"METHODS", "PROMISES", "ATTACKS", "MEASURES", "DISTANCES"}


@dataclass(frozen=True)
class Allowed:
    """An exception: which modules may do what, and why."""

    module: str
    what: str
    reason: str


EXCEPTIONS = [
    Allowed("*/__init__", "*", "packages offer their classes and functions to users: tsveil.MDAV, tsveil.attack.distance"),
    Allowed("protect/*", "imports tsveil.guarantee.*", "a method makes a promise, which is an object of a certain class"),
    Allowed("guarantee/*", "imports tsveil.guarantee.k_anonymity", "some promise k-anonymity and something more, or of some columns"),
    Allowed("protect/local_suppression", "imports tsveil.protect.mdav", "what stands beside keys is microaggregated"),
    Allowed("attack/series", "says *", "the three linkages of series are named by the distance that each of them uses"),
    Allowed("cli/choosing", "imports tsveil.protect.nlk", "the command nlk-study is about this method alone"),
    Allowed("data/source", "says values", "the name of an attribute of data sets, in a method __getattr__"),
    Allowed("measure/score", "says rank-swap", "the literature calls a formula of the score like this; it is no method there"),
]  # fmt: skip


def module_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").as_posix()


def as_path(place: str) -> str:
    """The module of a place in the registry, as a path."""
    return place.partition(":")[0].removeprefix("tsveil.").replace(".", "/")


MODULES = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
#: name -> the modules of its classes
OWN: dict[str, set[str]] = {}
for _kind in KINDS:
    for _name, _place in _kind.own.items():
        OWN.setdefault(_name, set()).add(as_path(_place))
FILES = {module for modules in OWN.values() for module in modules}
CLASSES: dict[str, Any] = {kind.own[name].partition(":")[2]: kind[name] for kind in KINDS for name in kind.own}
#: attributes that registered classes add to those of the bases; tables have some of the same name
ADDED = {word for found in CLASSES.values() for word in dir(found) if not word.startswith("_")}
for _base in [*(object_at(kind.base) for kind in KINDS), tsveil.Dataset, pl.DataFrame]:
    ADDED -= {*dir(_base), *(word for one in _base.__mro__ for word in getattr(one, "__annotations__", ()))}


def last_word(node: ast.AST) -> str:
    """What something is called: the last word of a.b.name, of a["name"] and of a.name(...)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    return last_word(node.func) if isinstance(node, ast.Call) else ""


def constants(node: ast.AST | None) -> Iterator[ast.Constant]:
    """The texts of an expression that may be its value, or be in it if it is a list."""
    if isinstance(node, ast.Constant):
        yield node
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for part in node.elts:
            yield from constants(part)
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)


def where_names_are_meant(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts that stand for registered names: see the top of this file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and last_word(node.value) in REGISTRIES:
            yield from constants(node.slice)
        elif isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if last_word(called) in REGISTRIES:
                for part in node.args:
                    yield from constants(part)
            for keyword in node.keywords:
                if keyword.arg in HOLDERS:
                    yield from constants(keyword.value)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(last_word(side) in HOLDERS | REGISTRIES for side in sides):
                for side in sides:
                    yield from constants(side)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(last_word(target) in HOLDERS for target in targets):
                yield from constants(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in HOLDERS:
                    yield from constants(value)
        elif isinstance(node, ast.Match) and last_word(node.subject) in HOLDERS:
            for case in node.cases:
                for pattern in ast.walk(case.pattern):
                    if isinstance(pattern, ast.MatchValue):
                        yield from constants(pattern.value)


def docstrings(tree: ast.AST) -> set[int]:
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }


def imported(node: ast.AST) -> set[str]:
    """The modules that a statement may import, as paths."""
    if isinstance(node, ast.Import):
        return {as_path(alias.name) for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {as_path(node.module), *(as_path(f"{node.module}.{alias.name}") for alias in node.names)}
    return set()


def classes_asked_for(node: ast.AST) -> set[str]:
    """The registered classes of which a check of types speaks."""
    asked: list[ast.AST] = []
    if isinstance(node, ast.Call) and last_word(node.func) in ("isinstance", "issubclass"):
        asked = list(node.args[1:])
    elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and last_word(node.left.func) == "type":
        asked = list(node.comparators)
    elif isinstance(node, ast.MatchClass):
        asked = [node.cls]
    return {last_word(part) for one in asked for part in ast.walk(one)} & set(CLASSES)


def found_in(module: str, tree: ast.AST) -> Iterator[str]:
    """All that a module says of registered classes of other files."""
    texts, meant = docstrings(tree), {id(node) for node in where_names_are_meant(tree)}
    for node in ast.walk(tree):
        for file in sorted((imported(node) & FILES) - {module}):
            yield f"imports tsveil.{file.replace('/', '.')}"
        if isinstance(node, ast.Constant) and id(node) not in texts and node.value in OWN:
            name = str(node.value)
            if module not in OWN[name] and (name not in WORDS or id(node) in meant):
                yield f"says {name}"
        for name in sorted(classes_asked_for(node)):
            yield f"asks whether something is a {name}"
        if (
            isinstance(node, ast.Call)
            and last_word(node.func) in ("hasattr", "getattr")
            and isinstance(node.args[1], ast.Constant)
            and node.args[1].value in ADDED
        ):
            yield f"asks for the attribute {node.args[1].value}"


def all_found() -> Iterator[tuple[str, str]]:
    for module, tree in MODULES.items():
        if module != "core/registry" and not module.startswith("reproduce/"):
            for what in found_in(module, tree):
                yield module, what


def allows(one: Allowed, module: str, what: str) -> bool:
    return fnmatch(f"/{module}", one.module if one.module.startswith("*") else f"/{one.module}") and fnmatch(
        what, one.what
    )


def test_no_module_knows_a_single_method_promise_attack_measure_or_distance() -> None:
    wrong = [
        f"{module} {what}" for module, what in all_found() if not any(allows(one, module, what) for one in EXCEPTIONS)
    ]
    assert not wrong, "\n".join(wrong)


def test_exceptions_are_few_and_each_is_needed() -> None:
    assert len(EXCEPTIONS) <= 8
    found = list(all_found())
    for one in EXCEPTIONS:
        assert one.reason
        assert any(allows(one, module, what) for module, what in found), f"nobody needs {one}"
    assert set(OWN) >= WORDS


def test_what_is_looked_for_is_found() -> None:
    code = """
from tsveil.attack import distance
from tsveil.protect.mdav import MDAV
import tsveil.guarantee.kp
def f(x, release):
    '''mdav'''
    if x == "mdav" or release.method.name in ("noise", "none") or isinstance(x, (int, MDAV)) or type(x) is KPAnonymity:
        return METHODS["projected"], ATTACKS.make("fuzzy", {}), {"name": "noise"}, g(attack="shape"), hasattr(x, "refine")
    return x.how == "none", "values", {"distance": 3}, getattr(x, "name"), isinstance(x, Method), hasattr(x, "columns")
"""
    assert sorted(found_in("elsewhere", ast.parse(code))) == [
        "asks for the attribute refine",
        "asks whether something is a KPAnonymity",
        "asks whether something is a MDAV",
        "imports tsveil.attack.distance",
        "imports tsveil.guarantee.kp",
        "imports tsveil.protect.mdav",
        "says fuzzy",
        "says mdav",
        "says noise",
        "says noise",
        "says none",
        "says projected",
        "says shape",
    ]


def test_the_first_method_is_one_to_start_with() -> None:
    assert METHODS[starting()].starting


# -- signatures -------------------------------------------------------------------------------------------------------

#: the classes whose subclasses must not be told apart by whoever takes one
ROOTS = {"ProtectedRecords", "Method", "Scorecard", "Promise"}


def families() -> dict[str, set[str]]:
    """Each root -> the names of all classes derived from it."""
    bases = {
        node.name: {last_word(base) for base in node.bases}
        for tree in MODULES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {root: {root} for root in ROOTS}
    for family in found.values():
        while more := {name for name, own in bases.items() if own & family} - family:
            family |= more
    return found


def unions(annotation: ast.AST) -> Iterator[set[str]]:
    """The members of each union in an annotation."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield {last_word(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)}
        elif isinstance(node, ast.Subscript) and last_word(node.value) == "Union":
            yield {last_word(part) for part in ast.walk(node.slice)}


def annotated(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns


def test_no_signature_has_a_union_of_releases_methods_cards_or_promises() -> None:
    known = families()
    assert {"Release", "MDAV", "KPAnonymity"} <= set().union(*known.values())
    for module, tree in MODULES.items():
        for annotation in annotated(tree):
            for members in unions(annotation):
                for root, family in known.items():
                    assert len(members & family) < 2, f"{module}: {ast.unparse(annotation)} is a union of {root}s"

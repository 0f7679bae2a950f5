"""Faults that would hurt most, by name: each is put into a copy of the source, and the tests that are named with it must notice.

    python tools/mutate_named.py [NAME ...]

`mutate.py` tries faults as chance makes them; these were chosen, in randomness, writing, tidying, verification and the verdict, because a release with
one of them looks like any other. The tests run once without a fault, where all must pass. Prints a table, and exits 1 if a fault survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """A text of a file below src/tsveil, the text that takes its place, why that matters, and the tests that must notice."""

    name: str
    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]


RANDOM = ("tests/test_randomness.py", "tests/test_secret.py", "tests/leaks/test_order.py")
TIDY = ("tests/data/test_disk.py",)
DISK = ("tests/data/test_disk.py", "tests/faults/test_races.py")
K_ANONYMITY = ("tests/guarantee/test_k_anonymity.py",)
VERDICT = ("tests/assess/test_statuses.py", "tests/assess/test_assessment.py", "tests/assess/test_ladder.py")

FAULTS = (
    # -- randomness ---------------------------------------------------------------------------------------------------
    Fault(
        "ids from the stream of the order",
        "core/randomness.py",
        'drawn = _stream(seed, "names", asked)',
        'drawn = _stream(seed, "order", asked)',
        "identifiers, which are published, would say where each record stood",
        RANDOM,
    ),
    Fault(
        "order without the seed",
        "core/randomness.py",
        '_stream(seed, "order", n)',
        '_stream(0, "order", n)',
        "every release of so many records would have the same order, which anybody can compute",
        RANDOM,
    ),
    Fault(
        "draws straight from the generator",
        "core/randomness.py",
        'hashlib.shake_256(b"tsveil/draws/" + rng.bytes(32)).digest(8 * count)',
        "rng.bytes(8 * count)",
        "who sees some of the noise of a statistical generator computes the rest",
        RANDOM,
    ),
    Fault(
        "one seed for all pieces",
        "core/randomness.py",
        "f\"tsveil/piece/{'/'.join(map(str, place))}/{seed}\"",
        'f"tsveil/piece/{seed}"',
        "all parts of a release would get the same noise, which differences of records take out",
        ("tests/test_randomness.py", "src/tsveil/core/randomness.py"),
    ),
    Fault(
        "the secret is not used",
        "plan/run.py",
        "seed = release_seed(plan.seed, drawn)",
        'seed = release_seed(plan.seed, "")',
        "the short seed of a plan would be found by trying",
        RANDOM,
    ),
    Fault(
        "the secret is published",
        "plan/run.py",
        '"private/secret.txt": f"{drawn}\\n"',
        '"published/secret.txt": f"{drawn}\\n"',
        "everything random could be repeated by any reader",
        RANDOM,
    ),
    # -- writing ------------------------------------------------------------------------------------------------------
    Fault(
        "a rename that replaces",
        "data/disk.py",
        "_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2",
        "_RENAME_NOREPLACE, _RENAME_EXCHANGE = 0, 2",
        "an empty folder that somebody made meanwhile would be taken away",
        DISK,
    ),
    Fault(
        "a name that is taken counts as free",
        "data/disk.py",
        "        final.mkdir()\n",
        "        final.mkdir(exist_ok=True)\n",
        "the same, where the system has no renameat2",
        DISK,
    ),
    Fault(
        "one temporary name for all",
        "data/disk.py",
        "{secrets.token_hex(4)}.partial",
        "00000000.partial",
        "two runs at once would fill one folder",
        DISK,
    ),
    Fault(
        "no flush before the name",
        "data/write.py",
        "        flush_all(partial)\n",
        "",
        "after a power cut a release could have its name and empty files",
        ("tests/faults/test_flush.py",),
    ),
    Fault(
        "no second look after the exchange",
        "data/write.py",
        "            _refuse_foreign(folder, partial, marker)  # it may have changed in the last moment\n",
        "            pass\n",
        "a folder of the user that appears in the last moment would be removed",
        DISK,
    ),
    Fault(
        "any folder may be replaced",
        "data/write.py",
        "        not place.is_dir() or (any(place.iterdir()) and not (place / marker).is_file())\n",
        "        not place.is_dir()\n",
        "--overwrite with a mistyped path would remove somebody's folder",
        (*DISK, "tests/test_release.py"),
    ),
    Fault(
        "private/ for everybody",
        "release/publish.py",
        '(place / "private").mkdir(mode=0o700)',
        '(place / "private").mkdir()',
        "other users of the machine could read who is who",
        ("tests/faults/test_room.py::test_private_files_are_for_their_owner_only",),
    ),
    Fault(
        "the spool stays",
        "plan/run.py",
        "    rmtree(spool)\n",
        "",
        "all original values would lie in the folder of the release",
        ("tests/leaks/test_parts.py",),
    ),
    Fault(
        "minus and a digit is a number",
        "data/formulas.py",
        r'([eE][+\-]?\d+)?\s*$"',
        r'([eE][+\-]?\d+)?"',
        "a cell such as -1+cmd|' /C calc'!A0 would be run by a spreadsheet",
        ("tests/data/test_formulas.py",),
    ),
    # -- tidying ------------------------------------------------------------------------------------------------------
    Fault(
        "tidy with a looser pattern",
        "data/disk.py",
        r'rf"\.{re.escape(final.name)}\.[0-9a-f]{{8}}\.(partial|old)"',
        r'rf"\.{re.escape(final.name)}\..*\.(partial|old)"',
        "hidden folders of the user would be removed",
        TIDY,
    ),
    Fault(
        "tidy by the beginning of a name",
        "data/disk.py",
        "left_behind.fullmatch(path.name)",
        "left_behind.match(path.name)",
        "the same, where a name goes on",
        TIDY,
    ),
    Fault(
        "tidy without asking for the lock",
        "data/disk.py",
        "    if (lock := lock_on(folder)) is not None:\n        remove(folder)\n        unlock(lock)\n",
        "    lock = lock_on(folder)\n    remove(folder)\n    unlock(lock)\n",
        "a run would remove the folder that another one is filling",
        TIDY,
    ),
    Fault(
        "tidy removes what was moved aside",
        "data/disk.py",
        'if path.suffix == ".old" and not final.exists():',
        'if path.suffix == ".older" and not final.exists():',
        "a run that is killed between two renames would cost the old release",
        TIDY,
    ),
    # -- verification -------------------------------------------------------------------------------------------------
    Fault(
        "k - 1 records are enough",
        "guarantee/k_anonymity.py",
        "few = int(size[size < self.k].sum())",
        "few = int(size[size < self.k - 1].sum())",
        "a promise that is not kept would hold",
        K_ANONYMITY,
    ),
    Fault(
        "more than k records are needed",
        "guarantee/k_anonymity.py",
        "few = int(size[size < self.k].sum())",
        "few = int(size[size <= self.k].sum())",
        "a promise that is kept would be violated",
        K_ANONYMITY,
    ),
    Fault(
        "records count as persons",
        "guarantee/k_anonymity.py",
        "(persons < self.k, f",
        "(counts.classes(number).size < self.k, f",
        "k records of one person would hide that person",
        K_ANONYMITY,
    ),
    Fault(
        "the share of a person is not looked at",
        "guarantee/k_anonymity.py",
        '[: 2 if self.counts == "share" else 1]',
        "[:1]",
        "one person could have nearly all records of a class",
        K_ANONYMITY,
    ),
    Fault(
        "p - 1 values are enough",
        "guarantee/p_sensitive.py",
        "few = np.flatnonzero(values < self.p)",
        "few = np.flatnonzero(values < self.p - 1)",
        "a promise that is not kept would hold",
        ("tests/guarantee/test_p_sensitive.py",),
    ),
    Fault(
        "each empty cell is another value",
        "guarantee/chunks.py",
        "return (codes.fill_null(-1) if codes.null_count() else codes).to_numpy()",
        "return np.where(codes.is_null(), -1 - np.arange(len(codes)), codes.fill_null(-1)).astype(np.int64)",
        "a class whose confidential cells are all empty would count as diverse",
        ("tests/guarantee/test_p_sensitive.py",),
    ),
    Fault(
        "missing values are not noticed",
        "guarantee/chunks.py",
        "wrong = ~np.isfinite(values)",
        "wrong = np.isinf(values)",
        "rows with a missing value would count as equal",
        ("tests/guarantee/test_chunks.py::test_missing_cells_and_records_break_every_promise",),
    ),
    # -- verdict ------------------------------------------------------------------------------------------------------
    Fault(
        "a warning is worse than not decided",
        "assess/assessment.py",
        '    WARNS = "warns"\n    NOT_DECIDED = "not-decided"\n',
        '    NOT_DECIDED = "not-decided"\n    WARNS = "warns"\n',
        "a release on which nothing was decided would hold, with warnings",
        VERDICT,
    ),
    Fault(
        "what is not decided passes",
        "assess/assessment.py",
        "stops = {Outcome.FAILS, Outcome.NOT_DECIDED}",
        "stops = {Outcome.FAILS}",
        "a release with columns that nobody judged would be written",
        VERDICT,
    ),
    Fault(
        "strict does nothing",
        "assess/assessment.py",
        "({Outcome.WARNS} if strict else set())",
        "set()",
        "who asked for no warnings would get them",
        VERDICT,
    ),
    Fault(
        "the limit is compared with the rate",
        "assess/assessment.py",
        "kept = risk.high <= limit",
        "kept = risk.rate <= limit",
        "a sample that happens to be lucky would pass",
        VERDICT,
    ),
    Fault(
        "the strongest attack by its rate",
        "assess/assessment.py",
        "key=lambda one: one.high)",
        "key=lambda one: one.rate)",
        "the same, for the attack that counts",
        VERDICT,
    ),
    Fault(
        "one unique record more",
        "assess/assessment.py",
        "if classes.unique > limits.unique_records:",
        "if classes.unique > limits.unique_records + 1:",
        "a limit would not be the limit",
        VERDICT,
    ),
    Fault(
        "the order of rows is not judged",
        "assess/assessment.py",
        "if not unjudged and not order:",
        "if not unjudged:",
        "rows in the order of the original tell who is who",
        (*VERDICT, "tests/assess/test_order.py"),
    ),
    Fault(
        "changed files keep their verdict",
        "release/reopen.py",
        'changed=digest_of(files) != facts.get("sha256")',
        "changed=False",
        "a published file could be replaced after it was attacked",
        ("tests/cli/test_verify_folders.py",),
    ),
)


def copied(folder: Path) -> None:
    """The source, the tests and the pages, with the compiled kernels and without compiled Python, which would outlive a change of the same second."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy2(ROOT / "pyproject.toml", folder)


def notice(folder: Path, tests: list[str]) -> str:
    """Run tests in a copy: the first that fails, or nothing."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-n", "0", "--tb=no", "-rfE", *tests],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode == 0:
        return ""
    told = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ended.returncode not in (1, 2) or not told:
        raise RuntimeError(f"the tests could not be run:\n{ended.stdout}\n{ended.stderr}")
    return told[0].split(" - ")[0]


def main(names: list[str]) -> int:
    """Try all faults, or those with these names."""
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    survived = 0
    with tempfile.TemporaryDirectory(prefix="tsveil-faults-") as place:
        folder = Path(place)
        copied(folder)
        every = list(dict.fromkeys(test for fault in chosen for test in fault.tests))
        if failed := notice(folder, every):
            print(f"without any fault: {failed}")
            return 1
        for fault in chosen:
            path = folder / "src" / "tsveil" / fault.file
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
            start = time.perf_counter()
            found = notice(folder, list(fault.tests))
            path.write_text(text, encoding="utf-8")
            survived += not found
            print(f"{fault.name:<40} {f'caught   {found}' if found else f'SURVIVED {fault.why}'}  ({time.perf_counter() - start:.0f} s)", flush=True)  # fmt: skip
    print(f"{len(chosen) - survived} of {len(chosen)} faults caught")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

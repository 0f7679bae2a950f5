"""Fuzz the targets with atheris, each for its share of FUZZ_SECONDS (600 unless set): `make fuzz`.

Any exception other than tsveil's own, a failed comparison, a hang of 20 seconds or 2 GB of memory ends the run with the input that caused it.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

#: a number, a word or a quoted text
CELL = re.compile(rb'"[^"\n]*"|[\w.+-]+')
SECONDS = int(os.environ.get("FUZZ_SECONDS", "600"))


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process."""
    import atheris

    sys.path.insert(0, str(Path(__file__).parents[1]))
    followed = ["tsveil.data", "tsveil.plan.plan", "tsveil.guarantee", "tsveil.core.params", "tomllib"]
    with atheris.instrument_imports(include=followed):
        from fuzz.targets import FOLDER, SNIPPETS, TARGETS
    target, seeds = TARGETS[name]
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
        target(seed)  # compiles what it needs, which on a busy machine may take longer than an input is allowed to
    words = FOLDER / "words"
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in SNIPPETS))
    keep = Path(tempfile.mkdtemp(prefix=f"tsveil-fuzz-{name}-found-"))
    options = [
        f"-max_total_time={seconds}",
        "-timeout=20",
        "-rss_limit_mb=2500",
        "-max_len=2000",
        f"-dict={words}",
        "-print_final_stats=1",
    ]

    def changed(data: bytes, most: int, seed: int) -> bytes:
        """Half of the changes are libFuzzer's own, which follow the lines of Python that are reached. Nobody follows those of a compiled parser."""
        chance = random.Random(seed)
        if chance.random() < 0.5 or name == "tables":
            return bytes(atheris.Mutate(data, most))
        base = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            cells = [found.span() for found in CELL.finditer(base)]
            start, stop = chance.choice(cells or [(0, len(base))])
            if name == "parquet":
                start = chance.randrange(len(base))
                stop = start + 1
            base = base[:start] + (chance.randbytes(1) if name == "parquet" else chance.choice(SNIPPETS)) + base[stop:]
        return base[:most]

    arguments = [sys.argv[0], *options, f"-artifact_prefix={keep}/", str(corpus)]
    atheris.Setup(arguments, target, custom_mutator=changed)
    atheris.Fuzz()


def main() -> None:
    """All targets one after the other, each in a process of its own."""
    names = ["csv", "parquet", "plan", "intervals", "tables"]
    failed = []
    for name in names:
        print(f"== {name}: {SECONDS // len(names)} s", flush=True)
        ended = subprocess.run(
            [sys.executable, __file__, name], stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True
        )
        lines = ended.stdout.splitlines()
        print(
            "\n".join(lines[-40:] if ended.returncode else [line for line in lines if "stat::" in line][:3]), flush=True
        )
        failed += [name] if ended.returncode else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fuzz(sys.argv[1], SECONDS // 5)
    else:
        main()

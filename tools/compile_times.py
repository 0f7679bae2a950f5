"""What a command of tsveil has numba compile, by function and signature, with the CPU seconds of each.

    python tools/compile_times.py demo
    python tools/compile_times.py --by-file run plan.toml

The command runs with an empty cache in an empty folder (unless it names files elsewhere). Compiling a kernel compiles those that it
calls: their time counts once, as their own. A function that stands in the list twice was called with two kinds of arrays.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> None:
    """Run a command, then print what was compiled."""
    by_file = "--by-file" in arguments
    words = [word for word in arguments if word != "--by-file"] or ["demo"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder + "/cache"  # numba looks at it when it is imported
        os.mkdir(folder + "/here")
        os.chdir(folder + "/here")
        from numba.core import event as numba_event

        from tsveil.cli import main as command

        events: Any = numba_event
        stacks: dict[int, list[list[float]]] = defaultdict(list)
        own: dict[tuple[str, str, str], float] = defaultdict(float)

        class Listener(events.Listener):  # type: ignore[misc]
            """Adds up the CPU seconds of each compilation, without those of the compilations that it caused."""

            def on_start(self, event: Any) -> None:
                """Look at the clock."""
                stacks[threading.get_ident()].append([time.thread_time(), 0.0])

            def on_end(self, event: Any) -> None:
                """Look again."""
                stack = stacks[threading.get_ident()]
                start, inner = stack.pop()
                seconds = time.thread_time() - start
                if stack:
                    stack[-1][1] += seconds
                function = event.data["dispatcher"].py_func
                name = Path(function.__code__.co_filename).name, function.__name__, str(event.data["args"])
                own[name] += seconds - inner

        events.register("numba:compile", Listener())
        before = time.process_time()
        command(words, standalone_mode=False)
        whole = time.process_time() - before
        os.chdir("/")
    rows: dict[str, float] = defaultdict(float)
    for key, seconds in own.items():
        rows[key[0] if by_file else "  ".join(key)] += seconds
    for row, seconds in sorted(rows.items(), key=lambda pair: -pair[1]):
        print(f"{seconds:7.2f}  {row}")
    functions = len({key[:2] for key in own})
    print(f"{sum(own.values()):7.2f}  compiling {len(own)} signatures of {functions} functions, of {whole:.2f} in all")


if __name__ == "__main__":
    main(sys.argv[1:])

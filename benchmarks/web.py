"""The web app: first paint, how soon 200 configurations can be compared, the memory of the server during an upload of 100 MB and its preview, and twenty sessions at once, each
of which uploads a table, looks at its pages for a while and removes it.

    python benchmarks/web.py [MEGABYTES [SECONDS]]        SECONDS: how long the twenty visit
    python benchmarks/web.py steps [MEGABYTES]            every step of a large file: wall time, memory, and the longest time without progress
    python benchmarks/web.py bomb                         a small file that unpacks to 5 GB

First paint is what Chromium reports for a page of the demo, from the click to the first pixels. The page of results is interactive when its scripts have run; a move of a
limit is measured from the event until the next picture is drawn. Memory is the resident set of the server's
process, and of the job's process beside it, sampled every 20 ms.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import numpy as np
import psutil

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: what Chromium says of a page, in ms: its first paint, when its scripts have run, and how long a move of a limit takes
PAINTED_YET = "performance.getEntriesByName('first-contentful-paint')"
PAINTED = f"{PAINTED_YET}[0].startTime"
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
MOVED = """new Promise((done) => {
  const slider = document.querySelector("input[type=range]");
  const start = performance.now();
  slider.value = 50;
  slider.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
#: visitors at the same time, and the pause of each after a page, in seconds
SESSIONS, PAUSE = 20, 0.1


class Server:
    def __init__(self, folder: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "tsveil",
            "web",
            "--demo",
            "--no-browser",
            "--folder",
            str(folder / "studies"),
        ]
        environment = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.watched = psutil.Process(self.process.pid)

    def link(self) -> str:
        assert self.process.stdout is not None
        return next(found.group() for line in self.process.stdout if (found := re.search(r"http://\S+", line)))

    def entered(self) -> httpx.Client:
        link = self.link()
        client = httpx.Client(base_url=link.split("/enter")[0], follow_redirects=True, timeout=120, trust_env=False)
        client.get(link)
        return client


@contextmanager
def started() -> Iterator[tuple[Server, Path]]:
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name))
        try:
            yield server, Path(name)
        finally:
            server.process.terminate()
            server.process.wait()


class Peak:
    """The largest resident set of the server and of its jobs while the body runs, in MB."""

    def __init__(self, server: Server) -> None:
        self.server = self.job = 0.0
        self._process = server.watched
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def _sample(self) -> None:
        while not self._over.wait(0.02):
            self.server = max(self.server, self._process.memory_info().rss / 1e6)
            for child in self._process.children():
                try:
                    self.job = max(self.job, child.memory_info().rss / 1e6)
                except psutil.NoSuchProcess:
                    continue

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._thread.join()


def ready(client: httpx.Client, path: str) -> None:
    while "data-events" in client.get(path).text:
        time.sleep(0.1)


@contextmanager
def chromium(server: Server) -> Iterator[Page]:
    """A page that came with the link."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(server.link())
        yield page
        browser.close()


def first_paint(server: Server) -> list[float]:
    with chromium(server) as page:
        page.get_by_role("button", name="These roles are right: next").wait_for(timeout=120_000)
        found = []
        for _ in range(5):
            page.reload()
            page.wait_for_timeout(300)
            found.append(float(page.evaluate(PAINTED)))
    return found


def compared(server: Server, folder: Path) -> tuple[int, list[tuple[float, float, float]]]:
    """How many configurations the page of results has; and of each visit first paint, when it is interactive, and a move of a limit, in ms."""
    client = server.entered()
    written(folder / "few.csv", 0.02, points=24)
    at = sent(client, "/upload", files={"file": ("few.csv", (folder / "few.csv").read_bytes())}).url.path.rpartition(
        "/"
    )[0]
    ready(client, f"{at}/load")
    sent(client, f"{at}/confirm")
    ready(client, f"{at}/risk")
    values: dict[str, str | list[str]] = {
        "method": ["mdav", "rank-swap", "noise"],
        "mdav.k": ", ".join(map(str, range(2, 12))),
        "mdav.refine": ["none", "swap"],
        "rank-swap.p": ", ".join(map(str, range(1, 91))),
        "noise.sd": ", ".join(f"{0.05 * step:.2f}" for step in range(1, 91)),
        "max_risk": "30",
    }
    sent(client, f"{at}/sweep", fields=values)
    ready(client, f"{at}/run")
    ready(client, f"{at}/compare")
    found = []
    with chromium(server) as page:
        for _ in range(5):
            page.goto(f"{str(client.base_url).rstrip('/')}{at}/compare")
            page.wait_for_load_state("load")
            count = page.locator(".tried tbody tr").count()
            page.wait_for_function(f"{PAINTED_YET}.length > 0")
            found.append((float(page.evaluate(PAINTED)), float(page.evaluate(READY)), float(page.evaluate(MOVED))))
    return count, found


def written(path: Path, megabytes: float, points: int = 1000) -> int:
    """A wide table of random walks of about so many bytes."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        file.write(",".join(["meter", *(str(t) for t in range(1, points + 1))]) + "\n")
        record = 0
        while file.tell() < megabytes * 1_000_000:
            values = np.round(rng.normal(size=points).cumsum() + 100, 4)
            file.write(f"m{record}," + ",".join(map(str, values.tolist())) + "\n")
            record += 1
    return path.stat().st_size


def upload(server: Server, folder: Path, megabytes: int) -> None:
    client = server.entered()
    size = written(folder / "walks.csv", megabytes)
    before = server.watched.memory_info().rss / 1e6
    cpu, start = sum(server.watched.cpu_times()[:2]), time.perf_counter()
    with Peak(server) as peak, (folder / "walks.csv").open("rb") as file:
        page = sent(client, "/upload", files={"file": ("walks.csv", file)})
        arrived = time.perf_counter() - start
        ready(client, page.url.path)
        previewed = time.perf_counter() - start
    cpu = sum(server.watched.cpu_times()[:2]) - cpu
    assert "Ready" in client.get(page.url.path).text
    print(f"| upload of {size / 1e6:.0f} MB, wall s | {arrived:.1f} |")
    print(f"| upload and preview, wall s | {previewed:.1f} |")
    print(f"| CPU of the server meanwhile, s | {cpu:.1f} |")
    print(f"| server before, MB | {before:.0f} |")
    print(f"| server's peak, MB | {peak.server:.0f} (grew by {peak.server - before:.0f}) |")
    print(f"| peak of the job's process, MB | {peak.job:.0f} |", flush=True)


def sent(
    client: httpx.Client, path: str, fields: dict[str, str | list[str]] | None = None, **form: object
) -> httpx.Response:
    """The answer to a form of the app's own page."""
    csrf = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)
    assert csrf is not None
    headers = {"Origin": str(client.base_url).rstrip("/")}
    return client.post(path, data={"csrf": csrf.group(1), **(fields or {})}, headers=headers, **form)  # type: ignore[arg-type]


class Progress:
    """What a page is told of a job, from now to its end: the longest time in which nothing on it changed, and in which the work told nothing new."""

    def __init__(self, client: httpx.Client, page: str) -> None:
        self.still = self.same = 0.0
        self.during = ""
        begun = time.perf_counter()
        found = re.search(r'data-events="([^"]+)"', client.get(page).text)
        seen, told = begun, begun
        shown, words = "", "starting"
        if found is not None:
            with client.stream("GET", found[1]) as events:
                for line in events.iter_lines():
                    if not line.startswith("data:"):
                        continue
                    news = json.loads(line.removeprefix("data:"))
                    now = time.perf_counter()
                    if line != shown:
                        self.still, seen, shown = max(self.still, now - seen), now, line
                    if (said := f"{news['text']} {news['done']}") != words:
                        if now - told > self.same:
                            self.same, self.during = now - told, words
                        told, words = now, said
        self.wall = time.perf_counter() - begun


def steps(server: Server, folder: Path, megabytes: int) -> None:
    """Every step of a file of so many bytes."""
    client = server.entered()
    size = written(folder / "walks.csv", megabytes, points=100)
    ready(client, "/")
    idle = server.watched.memory_info().rss / 1e6
    print(f"| file, MB | {size / 1e6:.0f} |\n| server when idle, MB | {idle:.0f} |")

    def step(name: str, page: str, begin: Callable[[], object]) -> None:
        with Peak(server) as peak:
            start = time.perf_counter()
            begin()
            sent_after = time.perf_counter() - start
            told = Progress(client, page)
            opened_after = time.perf_counter()
            shown = client.get(page)
            opened_after = time.perf_counter() - opened_after
        assert shown.status_code == 200, shown.text
        assert "This did not work" not in shown.text, shown.text
        print(
            f"| {name}: form s, job s, page s | {sent_after:.1f}, {told.wall:.1f}, {opened_after:.2f} |\n"
            f"| {name}: longest in which the page stood still, and in which the work told nothing new, s | {told.still:.1f}, {told.same:.1f} ({told.during}) |\n"
            f"| {name}: server above idle, job's process, MB | {peak.server - idle:.0f}, {peak.job:.0f} |",
            flush=True,
        )

    place: list[str] = []

    def upload_file() -> None:
        with (folder / "walks.csv").open("rb") as file:
            place.append(sent(client, "/upload", files={"file": ("walks.csv", file)}).url.path.rpartition("/")[0])

    begun = Peak(server)
    with begun:
        upload_file()
    print(f"| upload: server above idle, MB | {begun.server - idle:.0f} |")
    (study,) = place
    step("load", f"{study}/load", lambda: None)
    step("risk", f"{study}/risk", lambda: sent(client, f"{study}/confirm"))
    step("methods", f"{study}/methods", lambda: None)
    wanted: dict[str, str | list[str]] = {"method": "mdav", "mdav.k": "5", "mdav.refine": "none", "max_risk": "100"}
    step("run", f"{study}/run", lambda: sent(client, f"{study}/sweep", fields=wanted))
    step("compare", f"{study}/compare", lambda: None)
    step("limits", f"{study}/compare", lambda: sent(client, f"{study}/limits", fields={"max_risk": "90"}))
    step("download", f"{study}/download", lambda: None)
    with Peak(server) as peak:
        start = time.perf_counter()
        with client.stream("GET", f"{study}/files/release") as answer:
            received = sum(len(piece) for piece in answer.iter_bytes())
    print(
        f"| release, MB, s, server above idle, MB | {received / 1e6:.0f}, {time.perf_counter() - start:.1f}, {peak.server - idle:.0f} |"
    )


def bomb(server: Server, folder: Path) -> None:
    """A gzip file of some megabytes that unpacks to 5 GB."""
    client = server.entered()
    packer = zlib.compressobj(9, wbits=31)
    line = b"m," + b"0," * 4_000 + b"0\n"
    piece = line * (1_000_000 // len(line))
    with (folder / "bomb.csv.gz").open("wb") as file:
        for _ in range(5_000_000_000 // len(piece)):
            file.write(packer.compress(piece))
        file.write(packer.flush())
    size = (folder / "bomb.csv.gz").stat().st_size
    with Peak(server) as peak, (folder / "bomb.csv.gz").open("rb") as file:
        start = time.perf_counter()
        page = sent(client, "/upload", files={"file": ("bomb.csv.gz", file)}).url.path
        ready(client, page)
        wall = time.perf_counter() - start
    assert "the most that can be uploaded" in client.get(page).text
    print(f"| {size / 1e6:.1f} MB of gzip that unpack to 5 GB, refused after s | {wall:.1f} |")
    print(f"| server's peak, job's process, MB | {peak.server:.0f}, {peak.job:.0f} |", flush=True)


def sessions(server: Server, folder: Path, seconds: float) -> None:
    clients = [server.entered() for _ in range(SESSIONS)]
    written(folder / "small.csv", 0.05)
    before = server.watched.memory_info().rss / 1e6
    cpu, start = sum(server.watched.cpu_times()[:2]), time.perf_counter()

    def visit(client: httpx.Client) -> list[float]:
        times: list[float] = []
        own = sent(client, "/upload", files={"file": ("small.csv", (folder / "small.csv").read_bytes())}).url.path
        paths = ["/", own, "/static/style.css", "/static/app.js", "/static/map.js"]
        while time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            assert client.get(paths[len(times) % len(paths)]).status_code == 200
            times.append(1000 * (time.perf_counter() - begin))
            time.sleep(PAUSE)
        assert sent(client, f"{own.rpartition('/')[0]}/delete").status_code == 200
        return times

    with ThreadPoolExecutor(SESSIONS) as pool:
        times = sorted(t for own in pool.map(visit, clients) for t in own)
    wall, cpu = time.perf_counter() - start, sum(server.watched.cpu_times()[:2]) - cpu
    grown = server.watched.memory_info().rss / 1e6 - before
    print(f"| {SESSIONS} sessions at once, requests | {len(times)} in {wall:.1f} s |")
    print(f"| CPU of the server per request, ms | {1000 * cpu / len(times):.1f} |")
    print(
        f"| answer, median and 95th percentile, ms | {statistics.median(times):.0f}, {times[int(0.95 * len(times))]:.0f} |"
    )
    print(f"| server grew by, MB | {grown:.0f} |", flush=True)


def main() -> None:
    if sys.argv[1:2] in (["steps"], ["bomb"]):
        print("| what | measured |\n| --- | ---: |")
        with started() as (server, folder):
            if sys.argv[1] == "bomb":
                bomb(server, folder)
            else:
                steps(server, folder, int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    print("| what | measured |\n| --- | ---: |")
    with started() as (server, folder):
        painted = first_paint(server)
        print(
            f"| first contentful paint of the demo's page, median of {len(painted)}, ms | {statistics.median(painted):.0f} |",
            flush=True,
        )
        count, visits = compared(server, folder)
        paint, interactive, move = (statistics.median(column) for column in zip(*visits, strict=True))
        print(f"| page of results with {count} configurations: first contentful paint, median of 5, ms | {paint:.0f} |")
        print(f"| the same: interactive, ms | {interactive:.0f} |")
        print(f"| the same: a limit moved on the map and in the table, ms | {move:.0f} |", flush=True)
        sessions(server, folder, seconds)
        upload(server, folder, megabytes)


if __name__ == "__main__":
    main()

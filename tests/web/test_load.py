"""Twenty people at once, in small: `benchmarks/web.py` does it for as long as it is asked to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psutil

from web.running import Client, Server

SESSIONS, ROUNDS = 20, 8
#: MB that the server may grow by, whatever the number of requests
GROWTH = 40


def table(session: int) -> bytes:
    rows = [f"s{session}r{row}," + ",".join(str(session + row + at % 3) for at in range(12)) for row in range(40)]
    return "\n".join(["meter," + ",".join(str(at) for at in range(1, 13)), *rows]).encode()


def test_twenty_sessions_at_once(server: Server) -> None:
    clients = [server.client() for _ in range(SESSIONS)]
    process = psutil.Process(server.process.pid)

    def visit(session: int) -> list[int]:
        client: Client = clients[session]
        page = client.upload(f"table-{session}.csv", table(session))
        place = page.url.path
        codes = [page.status_code]
        for _ in range(ROUNDS):
            shown = client.get(place)
            codes += [
                shown.status_code,
                *(client.get(p).status_code for p in ("/", "/static/style.css", "/static/map.js")),
            ]
            assert f"table-{session}.csv" in shown.text
        codes.append(client.post(f"/s/{place.split('/')[2]}/delete").status_code)
        return codes

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(visit, range(SESSIONS)))  # everything that is made once is there now
        before = process.memory_info().rss
        codes = [code for own in pool.map(visit, range(SESSIONS)) for code in own]
    assert set(codes) == {200}
    assert len(codes) == SESSIONS * (4 * ROUNDS + 2)
    assert process.memory_info().rss - before < GROWTH * 1_000_000
    assert [path for path in server.temporary.glob("*/*") if path.is_file()] == []
    assert not [line for line in server.errors if "Traceback" in line]

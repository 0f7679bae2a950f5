"""What the web app gives to be published, as it comes out of the browser's downloads, has no marker in it."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from leaks.marks import POINTS, found_in, marked_frame, markers
from web.running import started


def test_downloads_have_no_marker(tmp_path: Path) -> None:
    planted = tmp_path / "markedfolder" / "markedfile.csv"
    planted.parent.mkdir()
    marked_frame().write_csv(planted)
    with started(tmp_path) as server:
        client = server.client()
        study = client.upload(planted.name, planted.read_bytes()).url.path.split("/")[2]
        client.ready(f"/s/{study}/load")
        roles: dict[str, str | list[str]] = {
            "layout": "wide", "id": "person", "confidential": "tariff", "block_name": "load", "block_kind": "series",
            "block_from": "load.0", "block_to": f"load.{POINTS - 1}",
        }  # fmt: skip
        client.post(f"/s/{study}/look", roles)
        client.ready(f"/s/{study}/load")
        client.post(f"/s/{study}/confirm")
        client.ready(f"/s/{study}/risk")
        client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "4", "max_risk": "100", "title": ""})
        client.ready(f"/s/{study}/run")
        client.ready(f"/s/{study}/compare")
        got = {what: client.get(f"/s/{study}/files/{what}") for what in ("release", "data", "public-report", "plan")}
        assert {what: answer.status_code for what, answer in got.items()} == dict.fromkeys(got, 200)
        told = "".join(server.errors)
    shared = tmp_path / "shared"
    shared.mkdir()
    for what in ("data", "public-report"):
        (shared / what).write_bytes(got[what].content)
    with zipfile.ZipFile(io.BytesIO(got["release"].content)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        archive.extractall(shared / "archive")
    headers = "\n".join(f"{key}: {value}" for what in ("release", "data", "public-report") for key, value in got[what].headers.items())  # fmt: skip
    (shared / "headers.txt").write_text(headers)
    seed = re.search(r"^seed = (\d+|\"\d+\")", got["plan"].text, re.MULTILINE)
    assert seed is not None
    wanted = markers(planted, cells=True) | {"the seed": {seed.group(1).strip('"').encode()}}
    assert found_in(shared, wanted) == []
    # What the server itself prints may stay in a log for years.
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "errors.txt").write_text(told)
    assert found_in(tmp_path / "log", wanted) == []

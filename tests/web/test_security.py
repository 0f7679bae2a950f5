"""Who may talk to the server, and what goes out: each rule with its test, on a real server."""

from __future__ import annotations

import csv
import gzip
import io
import re
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tsveil.data.formulas import harmless
from tsveil.web.bounds import COLUMNS
from web.running import LARGEST, Client, Server, started

METERS = b"meter,2018-01-01,2018-01-02,2018-01-03,sort\n" + b"".join(
    b"m%d,%d.5,%d.25,%d,x%d\n" % (i, i, i * 2, i % 3, i % 2) for i in range(12)
)
PATHS = ["/", "/static/style.css", "/static/app.js", "/s/0000000000000000/load", "/jobs/0000000000000000/events", "/no"]


def origin(client: Client) -> dict[str, str]:
    return {"Origin": client.base}


def stranger(client: Client, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    """A request without the session's cookie."""
    return httpx.request(method, client.base + path, headers=headers, trust_env=False)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_link(client: Client, path: str) -> None:
    port = urlsplit(client.base).port
    for cookie in ("", f"tsveil-{port}=wrong", f"tsveil-{port}=", "=;;,"):
        answer = stranger(client, path, Cookie=cookie)
        assert answer.status_code == 403
        assert "link" in answer.text
        assert "csrf" not in answer.text


@pytest.mark.parametrize("path", ["/demo", "/upload", "/given", "/s/0/pick"])
def test_nothing_is_done_without_the_link(client: Client, path: str) -> None:
    assert stranger(client, path, "POST", **origin(client)).status_code == 403


def test_a_link_works_once_and_a_new_one_is_shown(server: Server) -> None:
    link = server.link()
    server.used.add(link)
    first = httpx.get(link, trust_env=False)
    assert first.status_code == 303
    assert httpx.get(link, trust_env=False).status_code == 403
    assert httpx.get(link.split("?")[0], trust_env=False).status_code == 403
    assert httpx.get(link + "x", trust_env=False).status_code == 403
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert urlsplit(link).query.split("=")[1].lower() not in cookie
    assert server.link() != link


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""])
def test_another_host_is_refused(client: Client, host: str) -> None:
    named = host.format(port=urlsplit(client.base).port)
    assert client.http.get("/", headers={"Host": named}).status_code == 400
    assert stranger(client, "/enter?token=x", Host=named).status_code == 400


def test_localhost_is_this_computer_too(server: Server) -> None:
    link = server.link()
    server.used.add(link)
    with httpx.Client(follow_redirects=True, trust_env=False) as http:
        assert http.get(link.replace("127.0.0.1", "localhost")).status_code == 200


@pytest.mark.parametrize("wrong", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", ""])
def test_another_origin_is_refused(client: Client, wrong: str) -> None:
    sent = {"Origin": wrong.format(port=urlsplit(client.base).port)}
    assert client.http.post("/demo", data={"csrf": client.csrf}, headers=sent).status_code == 403
    assert client.http.get("/", headers=sent).status_code == 403


def test_a_form_without_an_origin_or_from_another_site_is_refused(client: Client) -> None:
    assert client.http.post("/demo", data={"csrf": client.csrf}).status_code == 403
    sent = {**origin(client), "Sec-Fetch-Site": "cross-site"}
    assert client.http.post("/demo", data={"csrf": client.csrf}, headers=sent).status_code == 403
    assert client.http.get("/", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403


@pytest.mark.parametrize("path", ["/demo", "/s/0000000000000000/look", "/jobs/0000000000000000/stop"])
def test_a_form_needs_the_token_of_its_session(client: Client, server: Server, path: str) -> None:
    other, before = server.client(), list(server.temporary.glob("*/*"))
    for fields in ({}, {"csrf": ""}, {"csrf": "x"}, {"csrf": other.csrf}):
        assert client.http.post(path, data=fields, headers=origin(client)).status_code == 403
    assert client.upload("a.csv", METERS, csrf=other.csrf).status_code == 403
    assert list(server.temporary.glob("*/*")) == before


def test_what_goes_out_says_what_a_browser_may_do(client: Client) -> None:
    for path, status in (("/", 200), ("/static/app.js", 200), ("/static/style.css", 200), ("/no", 404)):
        answer = client.get(path)
        assert answer.status_code == status
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
    assert (
        stranger(client, "/").headers["content-security-policy"] == client.get("/").headers["content-security-policy"]
    )


def test_pages_have_nothing_inline_and_nothing_from_elsewhere(client: Client) -> None:
    for path in ("/", client.upload("m.csv", METERS).url.path):
        page = client.ready(path).text
        assert not re.search(r"<style|<script(?! src=\"/static/)|\sstyle=|\son\w+=|javascript:|https?://", page)


def test_an_upload_that_is_too_large_is_refused_with_a_page(client: Client, server: Server) -> None:
    before = list(server.temporary.glob("*/*"))
    answer = client.upload("big.csv", b"a,b\n" + b"1,2\n" * (LARGEST // 4 + 10_000))
    assert answer.status_code == 413
    assert "larger than 3 MB" in answer.text
    assert "tsveil web FILE" in answer.text
    assert list(server.temporary.glob("*/*")) == before


@pytest.mark.parametrize("announced", [True, False])
def test_an_upload_that_is_too_large_is_refused_before_it_is_read(
    client: Client, server: Server, announced: bool
) -> None:
    """The answer comes while most of the file has not been sent, whether its size is announced or not."""
    before = list(server.temporary.glob("*/*"))
    parts = urlsplit(client.base)
    cookie = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
    begin = f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{client.csrf}\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    size = "Content-Length: 90000000000" if announced else "Transfer-Encoding: chunked"
    head = (
        f"POST /upload HTTP/1.1\r\nHost: {parts.netloc}\r\nOrigin: {client.base}\r\nCookie: {cookie}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\n{size}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as line:
        line.sendall(head.encode())
        if announced:
            line.sendall(begin.encode())
        else:
            for piece in (begin.encode(), *([b"1,2\n" * 100_000] * (LARGEST // 400_000 + 2))):
                line.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        answer = line.recv(65536).decode()
    assert answer.startswith("HTTP/1.1 413")
    assert list(server.temporary.glob("*/*")) == before


def test_a_file_that_cannot_be_read_gets_words_not_a_trace(client: Client) -> None:
    contents = [b"", b"\x00" * 100, b"PAR1 broken", b"a,b\n"]
    for answer in [client.upload("odd.csv", content) for content in contents]:
        assert answer.status_code == 200
        page = client.ready(answer.url.path).text
        assert "Traceback" not in page
        assert "odd.csv" in page
        assert "not here any more" not in page
        assert 'class="box bad"' in page


def test_an_upload_without_a_file_is_refused(client: Client) -> None:
    for body, kind in (
        ("x", "text/plain"),
        ("", "multipart/form-data; boundary=x"),
        ("--x--", "multipart/form-data; boundary=x"),
    ):
        answer = client.http.post("/upload", content=body, headers={**origin(client), "Content-Type": kind})
        assert answer.status_code == 400
        assert "Traceback" not in answer.text


HEAD = '--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'


@pytest.mark.parametrize("cut", ["", "--x", "--x\r\n", "--y--"])
def test_an_upload_without_its_end_is_refused(client: Client, server: Server, cut: str) -> None:
    """A file that was cut off must not be taken for a smaller one."""
    before = list(server.temporary.glob("*/*"))
    body = HEAD.format(name="csrf", more="", value=client.csrf)
    body += HEAD.format(name="file", more='; filename="a.csv"', value=METERS.decode()) + cut
    sent = {**origin(client), "Content-Type": "multipart/form-data; boundary=x"}
    answer = client.http.post("/upload", content=body, headers=sent)
    assert answer.status_code == 400
    assert "the upload was cut off" in answer.text or "the upload was interrupted" in answer.text
    assert list(server.temporary.glob("*/*")) == before
    assert client.http.post("/upload", content=body.removesuffix(cut) + "--x--\r\n", headers=sent).status_code == 200


@pytest.mark.parametrize("length", [0, 71, 300, 5_000])
def test_an_odd_mark_between_the_parts_is_refused(client: Client, server: Server, length: int) -> None:
    mark = "x" * length
    sent = {**origin(client), "Content-Type": f'multipart/form-data; boundary="{mark}"'}
    answer = client.http.post("/upload", content=f"--{mark}--", headers=sent)
    assert answer.status_code == 400
    assert not [line for line in server.errors if "Traceback" in line]


def test_a_table_with_too_many_columns_is_refused(client: Client) -> None:
    head = ",".join(f"c{i}" for i in range(COLUMNS + 1)).encode()
    row = b",".join([b"1"] * (COLUMNS + 1))
    page = client.ready(client.upload("wide.csv", b"\n".join([head, row, row])).url.path).text
    assert "wide.csv has 20,001 columns, and the pages take at most 20,000" in page


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_file_that_unpacks_to_too_much_is_refused(client: Client, kind: str) -> None:
    content = b"meter,1,2\n" + b"m,1,2\n" * (LARGEST // 6 + 10)
    if kind == "gzip":
        packed = gzip.compress(content)
    else:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("sheet.xml", content)
        packed = out.getvalue()
    assert len(packed) < 100_000
    page = client.ready(client.upload("small.csv.gz", packed).url.path).text
    assert "unpacked it is larger than 3 MB" in page
    assert "tsveil web FILE" in page


def test_gigabytes_in_megabytes_are_refused_soon_and_without_the_memory(tmp_path: Path) -> None:
    """5 GB in 7.3 MB; the limit is that of the server as it is started by default."""
    member = gzip.compress(b"m,1,2\n" * 8_000_000, 9)
    path = tmp_path / "bomb.csv.gz"
    with path.open("wb") as out:
        for _ in range(5_000_000_000 // 48_000_000 + 1):
            out.write(member)
    code = (
        "import sys, time; from pathlib import Path; from tsveil.core.errors import InputError; "
        "from tsveil.web.bounds import check_unpacked_size; from tsveil.web.uploads import LARGEST; start = time.process_time()\n"
        "try: check_unpacked_size(Path(sys.argv[1]), LARGEST)\n"
        "except InputError as error: print(error.problems[0], time.process_time() - start, sep='|')\n"
        # The largest size of getrusage would be that of the process that was forked, which is this one.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    printed = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    first, _, kilobytes = printed.strip().rpartition("\n")
    words, seconds = first.split("|")
    assert "unpacked it is larger than 1,000 MB" in words
    assert float(seconds) < 5
    assert int(kilobytes) < 500_000


@pytest.mark.parametrize(
    "half", ["", "GET / HTTP/1.1\r\nHost: x", "POST /demo HTTP/1.1\r\n{head}Content-Length: 50\r\n\r\ncsrf=", "drip"]
)
def test_a_request_that_stays_half_sent_is_closed_after_a_time(tmp_path: Path, half: str) -> None:
    with started(tmp_path, patience=2.0) as server:
        client = server.client()
        parts = urlsplit(client.base)
        cookie = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
        head = f"Host: {parts.netloc}\r\nOrigin: {client.base}\r\nCookie: {cookie}\r\n"
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as line:
            begun = time.monotonic()
            with suppress(ConnectionError):
                if half == "drip":  # a byte now and then does not keep the head open
                    for byte in b"GET / HTTP/1.1\r\nX: " + b"y" * 40:
                        line.sendall(bytes([byte]))
                        line.settimeout(0.3)
                        with suppress(TimeoutError):
                            if line.recv(1) == b"":
                                break
                else:
                    line.sendall(half.format(head=head).encode())
                    line.settimeout(20)
                    while line.recv(65536):
                        pass
            assert 1.5 < time.monotonic() - begun < 12
        assert client.get("/").status_code == 200
        assert not [text for text in server.errors if "Traceback" in text]


NASTY = [
    "..", "../../etc/passwd", "//etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e", "/etc/passwd", "....//....//etc/passwd", "..\\..\\etc", "study.json",
    "%00", "a" * 5000, "%252e%252e%252fetc", "style.css/../app.js", "file:%2f%2f%2fetc%2fpasswd",
]  # fmt: skip


def raw_status(client: Client, path: str) -> tuple[int, str]:
    """A GET with the path exactly as it is; other clients tidy it up first."""
    parts = urlsplit(client.base)
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as line:
        cookie = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
        line.putrequest("GET", path)
        line.putheader("Cookie", cookie)
        line.endheaders()
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def test_no_path_from_a_client_is_opened(client: Client) -> None:
    study = client.upload("m.csv", METERS).url.path.split("/")[2]
    client.ready(f"/s/{study}/load")
    places = ("/s/{}/load", f"/s/{study}/files/{{}}", f"/s/{study}/view/{{}}", "/static/{}", "/jobs/{}/events")
    for nasty in NASTY:
        for place in places:
            status, text = raw_status(client, place.format(nasty))
            assert status in (400, 404), (place, nasty)
            assert "root:" not in text
        names = ("key", "id", "block_name", "block_kind", "block_from", "block_to", "confidential", "time", "value")
        for action in ("pick", "look", "sweep"):
            fields: dict[str, str | list[str]] = {"layout": "wide", **dict.fromkeys(names, nasty)}
            assert client.post(f"/s/{study}/{action}", fields).status_code in (400, 404)


def test_the_name_of_an_upload_is_a_text(client: Client, server: Server) -> None:
    answer = client.upload("../../<script>alert(1)</script>.csv", METERS)
    page = client.ready(answer.url.path).text
    assert "<script>alert" not in page
    names = {path.name for path in server.temporary.rglob("*") if path.is_file()}
    assert all(re.fullmatch(r"[0-9a-f]{16}", name) for name in names)


def test_script_tags_and_formulas_are_shown_as_text_and_exported_harmless(client: Client) -> None:
    evil = "<script>alert(1)</script>"
    rows = [[f"=id{evil}", f"@{evil}", *(f"2018-01-{day:02}" for day in range(1, 10))]]
    rows += [[f"=HYPERLINK({i})", f"+{evil}{i % 2}", *(str(i * day % 7) for day in range(9))] for i in range(15)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    study = client.upload("evil.csv", text.getvalue().encode()).url.path.split("/")[2]
    page = client.ready(f"/s/{study}/load")
    assert evil not in page.text
    assert "&lt;script&gt;" in page.text
    fields: dict[str, str | list[str]] = {
        "layout": "wide", "id": f"=id{evil}", "confidential": f"@{evil}", "block_name": evil, "block_kind": "series",
        "block_from": "2018-01-01", "block_to": "2018-01-09",
    }  # fmt: skip
    client.post(f"/s/{study}/look", fields)
    assert evil not in client.ready(f"/s/{study}/load").text
    client.post(f"/s/{study}/confirm")
    assert evil not in client.ready(f"/s/{study}/risk").text
    assert evil not in client.get(f"/s/{study}/methods").text
    client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "3", "max_risk": "100", "title": evil})
    assert evil not in client.ready(f"/s/{study}/run").text
    assert evil not in client.ready(f"/s/{study}/compare").text
    page = client.get(f"/s/{study}/download")
    assert page.url.path.endswith("/download"), page.text
    assert evil not in page.text
    for report in ("public-report", "private-report"):
        shown = client.get(f"/s/{study}/view/{report}")
        assert evil not in shown.text
        assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'; style-src 'sha256-")
        assert client.get(f"/s/{study}/files/{report}").headers["content-disposition"].startswith("attachment")
    data = client.get(f"/s/{study}/files/data")
    assert data.headers["content-disposition"] == 'attachment; filename="data.csv"'
    cells = [cell for row in csv.reader(io.StringIO(data.text)) for cell in row]
    assert f"'@{evil}" in cells
    assert [cell for cell in cells if harmless(cell) != cell] == []


def test_nothing_that_happens_is_told_to_the_client(server: Server, client: Client) -> None:
    """Odd requests give a page of a few words, and the server goes on."""
    for method, path, content in (
        ("PUT", "/", ""), ("POST", "/demo", "csrf=" + "%ff" * 10), ("POST", "/demo", "a=1&" * 30_000), ("POST", "/demo", "x" * 3_000_000),
    ):  # fmt: skip
        answer = client.http.request(method, path, content=content, headers=origin(client))
        assert 400 <= answer.status_code < 500
        assert "Traceback" not in answer.text
    assert client.get("/").status_code == 200
    assert not [line for line in server.errors if "Traceback" in line]

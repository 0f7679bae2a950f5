"""Fixtures of the web app's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from web.running import LARGEST, Client, Server, started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a file; each comes with a link of its own."""
    with started(tmp_path_factory.mktemp("web"), largest=LARGEST) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Client:
    return server.client()

"""Fixtures of all tests: one server for those that do not kill it, and names of their own."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server, proxy_to


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that stays up."""
    server = Server(tmp_path_factory.mktemp("server")).start()
    yield server
    server.kill()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, to kill."""
    folder = tmp_path / "server"
    folder.mkdir()
    server = Server(folder).start()
    yield server
    server.kill()


@pytest.fixture
def client(server: Server) -> Iterator[weir.Client]:
    with weir.Client(server.url, api_key=ADMIN_KEY) as client:
        yield client


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxy_to(server.url) as proxy:
        yield proxy


@pytest.fixture
def entity() -> str:
    return "user-" + uuid.uuid4().hex


@pytest.fixture
def resource() -> str:
    return "model-" + uuid.uuid4().hex


@pytest.fixture
def org(server: Server) -> str:
    return server.org("org-" + uuid.uuid4().hex[:8])


@pytest.fixture
def queue_dir(tmp_path: Path) -> Path:
    return tmp_path / "queue"

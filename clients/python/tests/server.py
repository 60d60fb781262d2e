"""A real `weir serve` of a test's own, and a proxy that loses what it is told to."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

ADMIN_KEY = "an-admin-key-for-tests-only"
START_SECS = 60
HTML = b"<html><body>Sign in</body></html>"
"""The page of a proxy."""


def binary() -> str:
    """The program under test; the Rust test that runs these passes it."""
    return os.environ.get("WEIR_BIN", "weir")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server that can be killed and started again on its port and data."""

    def __init__(self, folder: Path, config: str = "") -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "weir.toml").write_text(config)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "AWS_"))}
        environment |= {"WEIR_ADMIN_KEY": ADMIN_KEY, "WEIR_LOG": "warn"}
        command = [binary(), "serve", "--listen", f"127.0.0.1:{self.port}", "--data", str(self.folder / "data")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--aggregate-interval", "1"], cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        eventually(self._is_ready, START_SECS, self._story)
        return self

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self._story()
        try:
            return httpx.get(self.url + "/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def _story(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def kill(self) -> None:
        """End it without a word."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def admin(self, method: str, path: str, body: object = None) -> httpx.Response:
        response = httpx.request(method, self.url + path, json=body, headers={"x-api-key": ADMIN_KEY}, timeout=30)
        assert response.status_code < 400, response.text
        return response

    def org(self, name: str, *, quota: int = 10**12, labels: tuple[str, ...] = ("premium", "standard")) -> str:
        """An org with an app `shop`."""
        quotas = dict.fromkeys(labels, quota)
        fields = {"org_name": name, "timezone": "UTC", "quota_scope": "ORG"}
        self.admin("PUT", f"/api/v1/orgs/{name}", {**fields, "model_ordering": list(labels), "quotas": quotas})
        self.admin("PUT", f"/api/v1/orgs/{name}/apps/shop", {"app_name": "Shop"})
        return name

    def secret(self, org: str) -> tuple[str, str]:
        """The client id and secret of the app `shop`."""
        rotated = self.admin("POST", f"/api/v1/orgs/{org}/apps/shop/credentials/rotate", {}).json()
        ticket = {"token": rotated["secret_retrieval"]["token"]}
        secret = self.admin("POST", f"/api/v1/orgs/{org}/apps/shop/credentials/secret", ticket).json()
        return secret["client_id"], secret["client_secret"]

    def totals(self, org: str) -> dict[str, int]:
        """The totals that the server has counted so far, after an aggregation."""
        self.admin("POST", "/v1/jobs/keeper-aggregate/run")
        response = httpx.get(
            f"{self.url}/api/v1/orgs/{org}/apps/shop/aggregates/today", headers={"x-api-key": ADMIN_KEY}
        )
        if response.status_code == 404:
            return {"requests": 0, "input_tokens": 0, "output_tokens": 0}
        totals: dict[str, int] = response.json()["totals"]
        return totals


def eventually(condition: Callable[[], object], seconds: float, story: Callable[[], object] = lambda: "") -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"it did not come to pass: {story()}"
        time.sleep(0.02)


def reply(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A response that ends its connection."""
    lines = [f"HTTP/1.1 {status} X", "connection: close"]
    lines += [
        f"{name.replace('_', '-')}: {value}" for name, value in {"content_length": str(len(body)), **headers}.items()
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Proxy:
    """Passes requests on, one per connection, and does with the responses what `fate` says.

    `fate` gets the first line of each request, and returns `pass`, `lose` (the server takes the request, the response is lost),
    `drop` (the server never sees it), a whole response in bytes, or an event to wait for before the response is passed on.
    """

    def __init__(self, url: str) -> None:
        self.target = httpx.URL(url).port or 80
        self.fate: Callable[[str], str | bytes | threading.Event] = lambda _: "pass"
        self.seen: list[str] = []
        self.replies: list[str] = []
        self._streams: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                self._pass(client)
            except OSError:
                return

    def _pass(self, client: socket.socket) -> None:
        request = read_message(client)
        if not request:
            return
        line = request.split(b"\r\n", 1)[0].decode()
        self.seen.append(line)
        fate = self.fate(line)
        if fate == "drop":
            return
        if isinstance(fate, bytes):
            client.sendall(fate)
            return
        with socket.create_connection(("127.0.0.1", self.target)) as server:
            head, _, body = request.partition(b"\r\n\r\n")
            server.sendall(head + b"\r\nconnection: close\r\n\r\n" + body)
            if b"text/event-stream" in head:
                self._stream(server, client)
                return
            reply = b"".join(iter(lambda: server.recv(65536), b""))
        self.replies.append(reply.split(b"\r\n", 1)[0].decode())
        if fate == "lose":
            return
        if isinstance(fate, threading.Event):
            fate.wait(30)
        client.sendall(reply)

    def _stream(self, server: socket.socket, client: socket.socket) -> None:
        """Pass on what comes, as it comes."""
        self._streams += [server, client]
        for part in iter(lambda: server.recv(65536), b""):
            client.sendall(part)

    def drop_connections(self) -> None:
        """Break all streams."""
        for stream in self._streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        self._streams = []

    def close(self) -> None:
        self._listener.close()
        self.drop_connections()


def read_message(stream: socket.socket) -> bytes:
    """One request with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    missing = int(lengths[0]) - len(body) if lengths else 0
    while missing > 0:
        part = stream.recv(65536)
        data, missing = data + part, missing - len(part)
    return data


@contextmanager
def proxy_to(url: str) -> Iterator[Proxy]:
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()

"""Servers and clients are killed in the middle of their work, and in the end everything is counted once."""

import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

import weir
from server import ADMIN_KEY, Server, eventually
from weir import Limit
from weir.queue import Queue

PROCESSES = 3
SERVER_KILLS = 4
CLIENT_KILLS = 4
LOAD = Path(__file__).with_name("load.py")


class Clients:
    """Client processes of a test, none of which outlives it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._stop, self._server = folder / "stop", server
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, org: str, queue: Path, log: Path) -> "subprocess.Popen[bytes]":
        places = [str(place) for place in (queue, log, self._stop)]
        command = [sys.executable, str(LOAD), self._server.url, ADMIN_KEY, org, *places]
        client = subprocess.Popen(command)
        self._running.append(client)
        return client

    def finish(self) -> None:
        """Let the processes that were not killed come to their end."""
        self._stop.touch()
        for client in self._running:
            assert client.wait(timeout=120) in (0, -signal.SIGKILL)

    def kill(self) -> None:
        for client in self._running:
            client.kill()
            client.wait()


@pytest.fixture
def clients(own_server: Server, tmp_path: Path) -> Iterator[Clients]:
    clients = Clients(own_server, tmp_path)
    yield clients
    clients.kill()


def noted(logs: list[Path], what: str) -> list[int]:
    """The tokens of all notes of a kind."""
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    return [int(line.split()[1]) for line in lines if line.startswith(what + " ")]


def prepared(server: Server) -> str:
    with weir.Client(server.url, api_key=ADMIN_KEY) as client:
        client.limiter().set_limits([Limit.per_hour("tpm", 10**9)], resource="load")
    return server.org("org-" + uuid.uuid4().hex[:8])


def test_clients_survive_a_server_that_is_killed_again_and_again(
    own_server: Server, clients: Clients, tmp_path: Path
) -> None:
    org = prepared(own_server)
    # Two of the processes share a queue.
    queues = [tmp_path / "queue-0", tmp_path / "queue-0", tmp_path / "queue-1"]
    logs = [tmp_path / f"log-{number}" for number in range(PROCESSES)]
    for queue, log in zip(queues, logs, strict=True):
        clients.start(org, queue, log)
    for _ in range(SERVER_KILLS):
        before = len(noted(logs, "report"))
        eventually(lambda known=before: len(noted(logs, "report")) > known + 30, 60)  # type: ignore[misc]
        own_server.kill()
        own_server.start()
    clients.finish()
    totals, reports = own_server.totals(org), noted(logs, "report")
    assert len(reports) > SERVER_KILLS * 30
    assert (totals["requests"], totals["input_tokens"]) == (len(reports), sum(reports))
    with weir.Client(own_server.url, api_key=ADMIN_KEY) as reader:
        own_server.admin("POST", "/v1/jobs/limiter-usage/run")
        assert reader.limiter().usage_summary(entity=org, window="daily").total == {"tpm": sum(noted(logs, "settled"))}


def test_a_killed_client_has_lost_no_report(own_server: Server, clients: Clients, tmp_path: Path) -> None:
    org, queue = prepared(own_server), tmp_path / "queue"
    logs = [tmp_path / f"log-{number}" for number in range(CLIENT_KILLS + 1)]
    for log in logs[:-1]:
        client = clients.start(org, queue, log)
        eventually(lambda known=log: len(noted([known], "report")) > 40, 60)  # type: ignore[misc]
        client.send_signal(signal.SIGKILL)
        client.wait()
    clients.start(org, queue, logs[-1])
    eventually(lambda: noted(logs[-1:], "report"), 60)
    clients.finish()
    totals, reports = own_server.totals(org), noted(logs, "report")
    assert len(reports) > CLIENT_KILLS * 40
    # A killed process may have stored a report and not have lived to note it; nothing else may be counted.
    unsure = [tokens[-1] for log in logs if len(tokens := noted([log], "intent")) > len(noted([log], "report"))]
    beyond = (totals["requests"] - len(reports), totals["input_tokens"] - sum(reports))
    assert beyond in {(count, sum(some)) for count in range(len(unsure) + 1) for some in combinations(unsure, count)}


def test_what_waited_while_no_server_ran_is_sent_by_the_next_process(own_server: Server, tmp_path: Path) -> None:
    org, queue = prepared(own_server), tmp_path / "queue"
    own_server.kill()
    program = """
import os, sys, weir
budget = weir.Client(sys.argv[1], api_key=sys.argv[2]).budget(sys.argv[3], "shop", queue_dir=sys.argv[4])
for number in range(150):
    budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=number, output_tokens=0)
os.kill(os.getpid(), 9)
"""
    command = [sys.executable, "-c", program, own_server.url, ADMIN_KEY, org, str(queue)]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    own_server.start()
    with weir.Client(own_server.url, api_key=ADMIN_KEY) as client:
        # Making the budget is enough.
        budget = client.budget(org, "shop", queue_dir=queue)
        eventually(lambda: len(budget.queue) == 0, 30)
        budget.close()
    totals = own_server.totals(org)
    assert (totals["requests"], totals["input_tokens"]) == (150, sum(range(150)))


def test_a_lease_outlives_the_server_and_an_acquire_waits_for_it(own_server: Server) -> None:
    org = prepared(own_server)
    with weir.Client(own_server.url, api_key=ADMIN_KEY) as client:
        client.limiter().set_limits([Limit.per_hour("tpm", 1000)], entity=org, resource="load")
        with client.limiter().acquire(org, "load", tpm=100) as lease:
            lease.actual(tpm=70)
            own_server.kill()
            starting = threading.Thread(target=own_server.start)
            starting.start()
            # The server is not there yet.
            client.limiter().acquire(org, "load", tpm=200)
            starting.join()
        assert client.limiter().availability(org, "load").limits[0].available == 730


STEPS = [
    ("weir.queue.Queue.put", "before"),
    ("weir.queue.Queue.put", "after"),
    ("weir.sender.Sender._send", "before"),
    ("weir.sender.Sender._settle", "before"),
    ("weir.queue.Queue.remove", "before"),
    ("weir.queue.Queue.remove", "after"),
    ("weir.sender.Sender._bury", "before"),
    ("weir.queue.Queue.bury", "before"),
    ("weir.queue.Queue.bury", "after"),
    ("weir.sender.Sender._bury", "after"),
]

KILLED = """
import functools, os, pkgutil, sys, weir

def mortal(work, when):
    @functools.wraps(work)
    def call(*args, **kwargs):
        if when == "before":
            os.kill(os.getpid(), 9)
        result = work(*args, **kwargs)
        os.kill(os.getpid(), 9)
    return call

url, key, org, queue, step, when = sys.argv[1:]
budget = weir.Client(url, api_key=key).budget(org, "shop", queue_dir=queue)
if step:
    where, _, name = step.rpartition(".")
    place = pkgutil.resolve_name(where)
    setattr(place, name, mortal(getattr(place, name), when))
ids = ["11111111-1111-4111-8111-11111111111%d" % number for number in range(3)]
for id, label in zip(ids, ["premium", "unknown", "premium"]):
    budget.report(label, model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0, request_id=id)
assert budget.close(30), budget.last_error
"""


@pytest.mark.parametrize(("step", "when"), STEPS)
def test_a_client_that_is_killed_between_two_steps_loses_nothing(
    server: Server, org: str, tmp_path: Path, step: str, when: str
) -> None:
    command = [sys.executable, "-c", KILLED, server.url, ADMIN_KEY, org, str(tmp_path / "queue")]
    assert subprocess.run([*command, step, when], timeout=60).returncode == -signal.SIGKILL
    # The same program again, which reports what it did not live to report, under the same ids.
    subprocess.run([*command, "", ""], check=True, timeout=60)
    assert server.totals(org)["requests"] == 2
    [folder] = tmp_path.glob("queue/*")
    letters = Queue(folder).dead_letters(10)
    # A run that was killed after it had buried the report is followed by one that reports it again.
    assert 1 <= len(letters) <= 2
    assert {letter.error for letter in letters} == {"INVALID_MODEL_LABEL"}

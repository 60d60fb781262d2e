"""The queue of reports outlasts disks that are full, files that are damaged, and programs that are careless."""

import gc
import inspect
import json
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server, eventually
from weir.queue import Queue

MODEL: dict[str, Any] = {"model_id": "amazon.nova-lite-v1:0"}
USED: dict[str, Any] = {"input_tokens": 1, "output_tokens": 0}


@pytest.fixture
def through(proxy: Proxy) -> Iterator[weir.Client]:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        yield client


# A limit on the size of files is a full disk that needs no disk.
FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import weir
from weir.queue import Queue

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
queue, other = Queue(folder), Queue(folder)

def fill(bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, resource.RLIM_INFINITY))
"""


def run(program: str, *arguments: object) -> str:
    command = [sys.executable, "-c", FULL_DISK + program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_full_disk_refuses_reports_and_is_over_when_there_is_room(tmp_path: Path) -> None:
    run(
        """
queue.put({"request_id": "first"}, 0, None)
queue.remove([queue.newest()])
stored = []
fill((folder / "queue.db-wal").stat().st_size + 20_000)
for number in range(1000):
    try:
        queue.put({"request_id": str(number), "text": "x" * 1000}, number, None)
    except weir.QueueError as error:
        assert str(folder) in str(error), error
        break
    stored.append(number)
else:
    raise AssertionError("the disk was not full")
assert stored
fill(resource.RLIM_INFINITY)
for user in (other, queue):
    stored.append(1000 + len(stored))
    user.put({"request_id": str(stored[-1])}, 0, None)
assert [int(report.body["request_id"]) for report in queue.head(2000)] == stored
assert len(queue) == len(stored)
""",
        tmp_path / "q",
    )


def test_a_dead_letter_is_whole_or_stays_in_the_queue(tmp_path: Path) -> None:
    run(
        """
for number in range(3):
    queue.put({"request_id": str(number), "text": "x" * 100_000}, number, None)
first, second, third = queue.head(3)
queue.bury(first, "A", "why")
assert len(other) == 2  # its connection keeps the log of the database from starting anew
fill((folder / "queue.db-wal").stat().st_size + 50_000)
for _ in range(2):
    try:
        queue.bury(second, "B", "why")
    except weir.QueueError as error:
        assert str(folder) in str(error), error
    else:
        raise AssertionError("it did not fit")
fill(resource.RLIM_INFINITY)
assert [report.id for report in queue.head(3)] == [second.id, third.id]
queue.bury(second, "B", "why")
queue.bury(third, "C", "why")
assert [letter.error for letter in queue.dead_letters(10)] == ["A", "B", "C"]
assert (len(queue), queue.dead_letter_count) == (0, 3)
""",
        tmp_path / "q",
    )


@pytest.mark.parametrize("damage", ["no database", "a folder", "no folder", "read-only"])
def test_a_queue_that_cannot_be_opened_says_where_and_why(
    client: weir.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    queue = Queue(tmp_path / "q")
    queue.put({"request_id": "1"}, 0, None)
    folder = queue.folder
    queue.close()
    if damage == "no database":
        (folder / "queue.db").write_bytes(b"this was a disk once" * 1000)
    elif damage == "a folder":
        (folder / "queue.db").unlink()
        (folder / "queue.db").mkdir()
    elif damage == "no folder":
        folder = tmp_path / "file" / "q"
        (tmp_path / "file").touch()
    else:
        monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: refused("attempt to write a readonly database"))
    with pytest.raises(weir.QueueError, match="queue_dir") as error:
        Queue(folder).put({"request_id": "2"}, 0, None)
    assert str(folder) in str(error.value)


def refused(text: str) -> sqlite3.Connection:
    raise sqlite3.OperationalError(text)


def test_an_interrupted_write_holds_up_nobody(tmp_path: Path) -> None:
    queue, other = Queue(tmp_path / "q"), Queue(tmp_path / "q")
    queue.put({"request_id": "0"}, 0, None)
    with pytest.raises(KeyboardInterrupt), queue._transaction() as database:
        database.execute("DELETE FROM reports")
        raise KeyboardInterrupt
    with pytest.raises(weir.QueueError), queue._transaction() as database:
        database.execute("COMMIT")  # the end of the block commits again, and fails
    other.put({"request_id": "1"}, 0, None)
    queue.put({"request_id": "2"}, 0, None)
    assert len(queue) == 3


def test_a_killed_writer_leaves_a_whole_queue(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from weir.queue import Queue
queue = Queue(Path(sys.argv[1]))
for number in range(10**6):
    queue.put({"request_id": f"{sys.argv[2]}-{number}", "text": "x" * 5000}, 0, None)
    print(number, flush=True)
"""
    queue, noted = Queue(tmp_path / "q"), 0
    for name in ("a", "b", "c"):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(tmp_path / "q"), f"{name}{twin}"], stdout=subprocess.PIPE, text=True
            )
            for twin in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(20):
                writer.stdout.readline()
        for writer in writers:
            writer.kill()
            rest, _ = writer.communicate()
            noted += 20 + len([line for line in rest.split("\n")[:-1] if line])
    reports = queue.head(10**6)
    # A killed writer may have stored one more than it lived to say.
    assert noted <= len(reports) == len(queue) <= noted + 6
    assert all(len(report.body["text"]) == 5000 for report in reports)


def test_text_that_cannot_be_sent_is_refused_at_once(
    server: Server, client: weir.Client, org: str, queue_dir: Path
) -> None:
    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        for wrong in ({"model": "half of an emoji \ud83d"}, {"model_id": "\udc00"}, {"vendor": "\ud800"}):
            fields: dict[str, Any] = {"model": "premium", **MODEL, **USED, **wrong}
            with pytest.raises(ValueError, match="Unicode"):
                budget.report(**fields)
        budget.report("premium", model_id="ü\U0001f600" * 300, **USED)
        budget.report("premium", **MODEL, input_tokens=10**30, output_tokens=0)
        budget.report("x" * 100_000, **MODEL, **USED)
        budget.report("premium", **MODEL, **USED)
        assert budget.flush(30)
        letters = budget.dead_letters()
    assert server.totals(org)["requests"] + len(letters) == 4
    assert len(letters) >= 2


def test_a_budget_may_be_closed_twice_and_again_with_reports_left(
    proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    proxy.fate = lambda _: "drop"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        budget.report("premium", **MODEL, **USED)
        assert not budget.close(0.1)
        assert not budget.close(0.1)
    with pytest.raises(RuntimeError, match="closed"):
        budget.report("premium", **MODEL, **USED)
    with pytest.raises(RuntimeError, match="closed"):
        budget.flush()
    assert len(budget.queue) == 1


def test_closing_does_not_wait_for_a_server_that_keeps_silent(
    proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    held = threading.Event()
    proxy.fate = lambda line: held if "batch" in line else "pass"
    budget = through.budget(org, "shop", queue_dir=queue_dir)
    budget.report("premium", **MODEL, **USED)
    eventually(lambda: any("batch" in line for line in proxy.seen), 20)
    thread = budget._calls.handle.reporter._thread
    assert thread is not None
    assert not budget.close(0.1)
    assert thread.is_alive(), "it waits for the response, and ends then"
    held.set()
    thread.join(20)
    assert not thread.is_alive()


def test_the_sender_survives_whatever_happens_to_its_lock(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        lock = budget.queue.folder / "sender.lock"
        lock.mkdir(parents=True)
        budget.report("premium", **MODEL, **USED)
        eventually(lambda: isinstance(budget.last_error, weir.QueueError), 20)
        lock.rmdir()
        assert budget.flush(30)
        assert budget.last_error is None
    assert server.totals(org)["requests"] == 1


def test_a_report_that_is_stored_does_not_fail_for_want_of_a_thread(
    server: Server, client: weir.Client, org: str, queue_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            budget.report("premium", **MODEL, **USED)
        budget.report("premium", **MODEL, **USED)
        assert budget.flush(30)
    assert server.totals(org)["requests"] == 2


def test_a_budget_that_nobody_closed_sends_its_reports_and_ends(
    server: Server, client: weir.Client, org: str, queue_dir: Path
) -> None:
    for _ in range(3):
        client.budget(org, "shop", queue_dir=queue_dir).report("premium", **MODEL, **USED)
    unused = client.budget(org, "shop", queue_dir=queue_dir)
    known = weakref.ref(unused), weakref.ref(unused.queue)
    del unused
    gc.collect()
    eventually(lambda: known[0]() is None and known[1]() is None, 20)
    here = str(queue_dir.resolve())
    eventually(lambda: (gc.collect(), not [file for file in open_files() if file.startswith(here)])[1], 30)
    assert server.totals(org)["requests"] == 3


def open_files() -> list[str]:
    names = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            names.append(str(descriptor.readlink()))
        except OSError:
            continue
    return names


@pytest.mark.parametrize("status", [401, 403, 404, 409, 500, 503])
def test_reports_wait_while_their_app_is_refused(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path, status: int
) -> None:
    body = json.dumps({"error": "SOME_CODE", "detail": "not now"}).encode()
    refusal = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body)
    proxy.fate = lambda line: refusal if "batch" in line else "pass"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        budget.report("premium", **MODEL, **USED)
        eventually(lambda: budget.last_error is not None and "SOME_CODE" in str(budget.last_error), 20)
        assert not budget.dead_letters()
        proxy.fate = lambda _: "pass"
        assert budget.flush(30)
    assert server.totals(org)["requests"] == 1


def test_what_the_server_cannot_take_now_is_said_and_passed(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    first = "11111111-1111-4111-8111-111111111111"

    def busy(count: int) -> bytes:
        result = {"request_id": first, "status": "FAILED", "error": "SERVICE_UNAVAILABLE", "message": "busy"}
        body = json.dumps({"accepted": 0, "failed": 1, "results": [result] * count}).encode()
        return b"HTTP/1.1 207 X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(body), body)

    proxy.fate = lambda line: busy(1) if "batch" in line else "pass"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        budget.report("premium", **MODEL, **USED, request_id=first)
        eventually(lambda: "busy" in str(budget.last_error), 20)
        proxy.fate = lambda _: "pass"
        budget.report("premium", **MODEL, **USED)
        assert budget.flush(30)
        assert budget.last_error is None
    assert server.totals(org)["requests"] == 2


def test_the_end_of_the_program_waits_once_for_all_budgets(org: str, queue_dir: Path) -> None:
    program = """
import sys, weir
client = weir.Client("http://127.0.0.1:9", api_key="any")
budgets = [client.budget(sys.argv[1], f"app-{number}", queue_dir=sys.argv[2]) for number in range(30)]
for budget in budgets:
    budget.report("premium", model_id="m", input_tokens=1, output_tokens=0)
"""
    # Two seconds for each of them would take a minute.
    done = subprocess.run(
        [sys.executable, "-c", program, org, str(queue_dir)], check=True, timeout=45, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert len(list(queue_dir.iterdir())) == 30


def test_the_methods_of_a_budget_show_their_arguments() -> None:

    budget = create_autospec(weir.Budget, instance=True)
    budget.report("premium", input_tokens=1, output_tokens=1)
    budget.submit("premium", input_tokens=1, output_tokens=1)
    with pytest.raises(TypeError):
        budget.report("premium", tokens=1)
    limiter = create_autospec(weir.Limiter, instance=True)
    limiter.availability("user-1", resource="gpt-4")
    with pytest.raises(TypeError):
        limiter.availability("user-1", model="gpt-4")
    methods: list[tuple[Callable[..., Any], str]] = [
        (weir.Limiter.availability, "Availability"),
        (weir.AsyncLimiter.availability, "Availability"),
        (weir.Limiter.entities, "Iterator[Entity]"),
        (weir.AsyncLimiter.entities, "AsyncIterator[Entity]"),
        (weir.Limiter.delete_entity, "None"),
        (weir.Budget.report, "str"),
        (weir.Budget.submit, "Submitted"),
        (weir.AsyncBudget.report, "str"),
    ]
    for method, returned in methods:
        assert inspect.signature(method).return_annotation == returned

"""Reports leave only for an answer of Weir, on one thread for each queue, and what was refused can be queued again."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weir
from server import ADMIN_KEY, HTML, Proxy, Server, eventually, reply
from weir.core import Program, Response, Sleep
from weir.drivers import Driver
from weir.queue import Queue
from weir.sender import Sender
from weir.session import Session

MODEL: dict[str, Any] = {"model_id": "amazon.nova-lite-v1:0"}
USED: dict[str, Any] = {"input_tokens": 1, "output_tokens": 0}


@pytest.fixture
def through(proxy: Proxy) -> Iterator[weir.Client]:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        yield client


@pytest.mark.parametrize("status", [400, 413, 415, 422])
@pytest.mark.parametrize(
    "page", [reply, lambda status: reply(status, b'{"error": "BLOCKED"}', content_type="application/json")]
)
def test_what_a_proxy_refuses_is_not_buried(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path, status: int, page: Any
) -> None:
    answer = page(status)
    proxy.fate = lambda line: answer if "batch" in line else "pass"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        for _ in range(5):
            budget.report("premium", **MODEL, **USED)
        eventually(lambda: sum("batch" in line for line in proxy.seen) > 4, 20)
        assert isinstance(budget.last_error, weir.InvalidRequest)
        assert budget.last_error.status == status
        assert (len(budget.queue), budget.queue.dead_letter_count) == (5, 0)
        proxy.fate = lambda _: "pass"
        assert budget.flush(30)
        assert budget.last_error is None
        assert not budget.dead_letters()
    assert server.totals(org)["requests"] == 5


def test_a_batch_that_is_too_large_for_a_proxy_is_split(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    batches: list[str] = []

    def fate(line: str) -> str | bytes:
        if "batch" not in line:
            return "pass"
        batches.append(line)
        return reply(413, HTML) if len(batches) <= 3 else "pass"

    proxy.fate = lambda _: "drop"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        for _ in range(20):
            budget.report("premium", **MODEL, **USED)
        proxy.fate = fate
        assert budget.flush(30)
        # Twenty, ten and five are too many; two and three pass, and then the other five and ten.
        assert len(batches) == 7
        assert not budget.dead_letters()
    assert server.totals(org)["requests"] == 20


def test_one_report_that_is_too_large_for_a_proxy_waits_and_the_others_pass(
    server: Server, org: str, queue_dir: Path
) -> None:
    limit = 600  # bytes of a request with few reports of a small model, and not of the long one

    with (
        weir.Client(server.url, api_key=ADMIN_KEY) as client,
        client.budget(org, "shop", queue_dir=queue_dir) as budget,
    ):
        http = client._settings.http()

        class Narrow:
            """A connection through a proxy that takes small requests only."""

            def request(self, **arguments: Any) -> Any:
                if len(str(arguments["json"])) > limit:
                    return FakeResponse()
                return http.request(**arguments)

            def close(self) -> None:
                http.close()

        class FakeResponse:
            status_code, headers, content = 413, {"content-type": "text/html"}, HTML

        client._reporters._connect = Narrow  # type: ignore[assignment]
        narrow = client.budget(org, "shop", queue_dir=queue_dir / "narrow")
        narrow.report("premium", model_id="m" * limit, **USED)
        for _ in range(3):
            narrow.report("premium", **MODEL, **USED)
        eventually(lambda: len(narrow.queue) == 1, 30)
        assert isinstance(narrow.last_error, weir.InvalidRequest)
        assert not narrow.close(0.1)
        assert not budget.dead_letters()
    assert server.totals(org)["requests"] == 3


def test_dead_letters_are_queued_again_when_their_reason_was_mended(
    server: Server, client: weir.Client, org: str, queue_dir: Path
) -> None:
    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        assert (budget.dead_letters(), budget.requeue_dead_letters(), budget.delete_dead_letters()) == ([], 0, 0)
        id = budget.report("economy", **MODEL, **USED)
        budget.report("typo", **MODEL, **USED)
        assert budget.flush(20)
        assert [letter.error for letter in budget.dead_letters()] == ["INVALID_MODEL_LABEL"] * 2
        assert budget.dead_letters()[0].request_id == id
        assert abs(budget.dead_letters()[0].at.timestamp() - time.time()) < 60
        server.org(org, labels=("premium", "economy"))
        assert budget.requeue_dead_letters() == 2
        assert budget.flush(20)
        assert [letter.report["model_label"] for letter in budget.dead_letters()] == ["typo"]
        assert server.totals(org)["requests"] == 1
        assert budget.delete_dead_letters() == 1
        assert budget.queue.dead_letter_count == 0
    with pytest.raises(RuntimeError, match="closed"):
        budget.requeue_dead_letters()


def test_dead_letters_of_an_asynchronous_client_are_queued_again(server: Server, org: str, queue_dir: Path) -> None:
    async def main() -> None:
        async with (
            weir.AsyncClient(server.url, api_key=ADMIN_KEY) as client,
            client.budget(org, "shop", queue_dir=queue_dir) as budget,
        ):
            await budget.report("economy", **MODEL, **USED)
            assert await budget.flush(20)
            assert len(await budget.dead_letters()) == 1
            await asyncio.to_thread(server.org, org, labels=("premium", "economy"))
            assert await budget.requeue_dead_letters() == 1
            assert await budget.flush(20)
            assert await budget.delete_dead_letters() == 0

    asyncio.run(main())
    assert server.totals(org)["requests"] == 1


def test_no_dead_letter_is_lost_when_the_queue_is_full_or_has_its_id(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "q")
    for number in range(4):
        queue.put({"request_id": str(number % 3), "number": number}, number, None)
        queue.bury(queue.head(1)[0], "CODE", "why")
    queue.put({"request_id": "1", "number": "queued"}, 0, None)
    # The first and the last letter have one id, and the second one is queued by now.
    assert queue.requeue(2) == 1
    assert queue.requeue(9) == 1
    assert queue.requeue(9) == 0
    assert [report.body["number"] for report in queue.head(9)] == ["queued", 0, 2]
    assert [letter.report["number"] for letter in queue.dead_letters(9)] == [1, 3]


def test_a_program_that_reports_nothing_needs_no_folder(
    server: Server, org: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with weir.Client(server.url, api_key=ADMIN_KEY) as client:
        for folder in (tmp_path / "file" / "queue", tmp_path / "empty"):
            with client.budget(org, "shop", queue_dir=folder) as budget:
                pick = budget.select()
                assert budget.submit(pick, **USED).duplicate is False
                assert budget.flush(1)
                assert (len(budget.queue), budget.dead_letters(), budget.last_error) == (0, [], None)
            assert not folder.exists()
        with client.budget(org, "shop", queue_dir=tmp_path / "file" / "queue") as budget:
            with pytest.raises(weir.QueueError, match="WEIR_QUEUE_DIR"):
                budget.report(pick, **USED)

        def homeless() -> Path:
            raise RuntimeError("Could not determine home directory.")

        for name in ("WEIR_QUEUE_DIR", "XDG_STATE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", homeless)
        with client.budget(org, "shop") as budget:
            assert budget.select().label == "premium"
            with pytest.raises(weir.QueueError, match=r"no home.*WEIR_QUEUE_DIR"):
                budget.report(pick, **USED)


def test_a_slow_disk_does_not_hold_up_the_event_loop(
    server: Server, org: str, queue_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        weir.Client(server.url, api_key=ADMIN_KEY) as client,
        client.budget(org, "shop", queue_dir=queue_dir) as budget,
    ):
        budget.report("premium", **MODEL, **USED)
        assert budget.flush(20)
    users: list[int] = []
    monkeypatch.setattr(Queue, "exists", lambda _: users.append(threading.get_ident()))

    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as client:
            budget = client.budget(org, "shop", queue_dir=queue_dir)
            await budget.select()
            await asyncio.to_thread(eventually, lambda: users, 20)
            await budget.close()

    asyncio.run(main())
    assert threading.get_ident() not in users


def test_budgets_of_an_app_share_a_thread_and_the_last_one_ends_it(
    server: Server, client: weir.Client, org: str, queue_dir: Path
) -> None:
    budgets = [client.budget(org, "shop", queue_dir=queue_dir, queue_max=10 + number) for number in range(20)]
    other = client.budget(org, "other", queue_dir=queue_dir)
    for budget in budgets:
        budget.report("premium", **MODEL, **USED)
    assert len({budget.queue for budget in budgets}) == 1
    assert other.queue is not budgets[0].queue
    thread = budgets[0]._calls.handle.reporter._thread
    assert thread is not None
    for budget in budgets[:-1]:
        assert budget.close(20)
        with pytest.raises(RuntimeError, match="closed"):
            budget.report("premium", **MODEL, **USED)
        assert thread.is_alive()
    budgets[-1].report("premium", **MODEL, **USED)
    assert budgets[-1].close(20)
    thread.join(20)
    assert not thread.is_alive()
    with client.budget(org, "shop", queue_dir=queue_dir) as again:
        again.report("premium", **MODEL, **USED)
        assert again.flush(20)
    assert server.totals(org)["requests"] == 22


def test_whoever_stops_waiting_leaves_no_thread_behind(org: str, queue_dir: Path) -> None:
    program = """
import asyncio, sys, weir

async def main():
    async with weir.AsyncClient("http://127.0.0.1:9", api_key="any") as client:
        budget = client.budget(sys.argv[1], "shop", queue_dir=sys.argv[2], queue_max=1, on_full="wait", full_wait_secs=1e9)
        fields = {"model_id": "m", "input_tokens": 1, "output_tokens": 0}
        await budget.report("premium", **fields)
        for waits in (budget.flush(), budget.report("premium", **fields)):
            try:
                await asyncio.wait_for(waits, 0.3)
            except asyncio.TimeoutError:
                print("stopped")

asyncio.run(main())
"""
    command = [sys.executable, "-c", program, org, str(queue_dir)]
    done = subprocess.run(command, check=True, timeout=30, capture_output=True, text=True)
    assert done.stdout == "stopped\nstopped\n"


def test_each_budget_of_an_app_has_its_own_bound(proxy: Proxy, through: weir.Client, org: str, queue_dir: Path) -> None:
    proxy.fate = lambda _: "drop"
    narrow = through.budget(org, "shop", queue_dir=queue_dir, queue_max=1)
    wide = through.budget(org, "shop", queue_dir=queue_dir)
    for _ in range(2):
        wide.report("premium", **MODEL, **USED)
    with pytest.raises(weir.QueueFull, match="1 reports"):
        narrow.report("premium", **MODEL, **USED)
    assert not narrow.flush(float("nan"))
    assert not narrow.close(0.1)
    assert not wide.close(0.1)


def sender_of(queue: Queue) -> tuple[Sender, Session]:
    session = weir.Client("http://127.0.0.1:9", api_key="any")._session
    session.clock.observe({"date": "Thu, 15 Jan 2026 12:00:00 GMT"})
    return Sender(queue, session, "acme", "shop"), session


def answered(sender: Sender, status: int, body: bytes, **headers: str) -> bool:
    """Run a step of a sender against one response."""
    program = sender.step()
    try:
        next(program)
        program.send(Response(status, headers, body))
    except StopIteration as end:
        return bool(end.value)
    raise AssertionError("it sends once")


def test_a_report_that_another_process_has_sent_is_no_trouble(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "q")
    queue.put({"request_id": "1"}, 0, None)
    sender, _ = sender_of(queue)
    busy = b'{"results": [{"request_id": "1", "status": "FAILED", "error": "SERVICE_UNAVAILABLE", "message": "busy"}]}'
    assert answered(sender, 207, busy)
    assert "busy" in str(sender.trouble)
    assert not answered_nothing(sender)
    assert sender.trouble is not None
    queue.remove([queue.newest()])
    assert not answered_nothing(sender)
    assert sender.trouble is None


def answered_nothing(sender: Sender) -> bool:
    """Run a step that sends nothing."""
    program = sender.step()
    try:
        next(program)
    except StopIteration as end:
        return bool(end.value)
    raise AssertionError("it sends something")


def test_an_empty_queue_asks_no_server_and_says_nothing(
    org: str, queue_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with weir.Client("http://127.0.0.1:9", api_key="any") as client:
        with client.budget(org, "shop", queue_dir=queue_dir) as budget:
            queue, clock = budget.queue, client._session.clock
            queue.put({"request_id": "1"}, clock.wall_ms(), None)
            queue.remove([queue.newest()])
            with caplog.at_level(logging.WARNING):
                budget._calls.handle.reporter.start()
                time.sleep(0.5)
            assert budget.last_error is None
            assert caplog.records == []


def test_a_report_at_the_very_end_of_the_program_is_stored(server: Server, org: str, queue_dir: Path) -> None:
    program = """
import atexit, sys

def last_words():
    budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)

atexit.register(last_words)  # runs after what the client has registered
import weir
budget = weir.Client(sys.argv[1], api_key=sys.argv[2]).budget(sys.argv[3], "shop", queue_dir=sys.argv[4])
if len(sys.argv) > 5:
    budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
"""
    for more in ([], ["one before"]):
        command = [sys.executable, "-c", program, server.url, ADMIN_KEY, org, str(queue_dir), *more]
        done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
    with (
        weir.Client(server.url, api_key=ADMIN_KEY) as client,
        client.budget(org, "shop", queue_dir=queue_dir) as budget,
    ):
        assert budget.flush(20)
    assert server.totals(org)["requests"] == 3


def test_a_child_that_was_forked_while_others_work_reports_too(server: Server, org: str, queue_dir: Path) -> None:
    program = """
import os, sys, threading, weir
client = weir.Client(sys.argv[1], api_key=sys.argv[2])

def report():
    budget = client.budget(sys.argv[3], "shop", queue_dir=sys.argv[4])
    budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
    return budget

def work():
    while not stop.is_set():
        client.budget(sys.argv[3], "shop", queue_dir=sys.argv[4]).queue.newest()

stop = threading.Event()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        assert report().close(30)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
assert report().close(30)
"""
    command = [sys.executable, "-W", "ignore", "-c", program, server.url, ADMIN_KEY, org, str(queue_dir)]
    subprocess.run(command, check=True, timeout=120)
    assert server.totals(org)["requests"] == 11


@pytest.mark.parametrize("seconds", [1e11, float("inf")])
def test_no_wait_is_too_long_for_the_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)

    def program() -> Program[None]:
        yield Sleep(seconds)

    with weir.Client("http://127.0.0.1:9", api_key="any") as client:
        driver: Driver = client._driver
        driver.run(program())
    assert slept == [86_400]


def test_selections_of_overtaken_requests_are_not_kept(server: Server, proxy: Proxy, queue_dir: Path) -> None:
    org = server.org("org-" + uuid.uuid4().hex[:8], quota=1_000_000)
    held = threading.Event()
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        budget = client.budget(org, "shop", queue_dir=queue_dir)
        proxy.fate = lambda line: held if "model-selection" in line and "force" not in line else "pass"
        slow: list[weir.ModelSelection] = []
        thread = threading.Thread(target=lambda: slow.append(budget.select()))
        thread.start()
        eventually(lambda: proxy.replies, 20)
        budget.submit("premium", **MODEL, **USED, cost_usd_micros=1_200_000)
        later = budget.select(force_check=True)
        assert later.label == "standard"
        held.set()
        thread.join(20)
        assert [pick.label for pick in slow] == ["premium"]
        assert budget.select().label == "standard"

"""Selections are kept as the server allows; every report is counted once, whatever is lost on its way."""

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server, eventually, proxy_to, reply

MODEL: dict[str, Any] = {"model_id": "amazon.nova-lite-v1:0"}


@pytest.fixture
def through(proxy: Proxy) -> Iterator[weir.Client]:
    """A client whose messages pass the proxy."""
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        yield client


def test_a_selection_is_kept_and_then_checked_by_its_tag(
    proxy: Proxy, through: weir.Client, org: str, queue_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = through.budget(org, "shop", queue_dir=queue_dir)
    pick = budget.select()
    assert (pick.label, pick.reason) == ("premium", "NORMAL")
    assert all(budget.select() is pick for _ in range(5))
    assert len(proxy.seen) == 1
    later = time.monotonic() + pick.client_guidance.cache_duration_secs + 1
    monkeypatch.setattr(through._session.clock, "monotonic", lambda: later)
    assert budget.select() is pick
    assert proxy.replies[-1].startswith("HTTP/1.1 304")
    assert budget.select() is pick
    assert len(proxy.seen) == 2
    forced = budget.select(force_check=True)
    assert "force_check=true" in proxy.seen[-1]
    assert proxy.replies[-1].startswith("HTTP/1.1 200")
    assert forced.label == "premium"


def test_spent_quotas_move_the_chain_and_then_close_it(server: Server, client: weir.Client, queue_dir: Path) -> None:
    org = server.org("org-" + uuid.uuid4().hex[:8], quota=1_000_000)
    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        first = budget.select()
        spent = budget.submit(first, input_tokens=400_000, output_tokens=0)
        assert (spent.cost_usd_micros, spent.cost_usd_micros.usd, spent.duplicate) == (1_200_000, Decimal("1.2"), False)
        second = budget.select(force_check=True)
        assert (second.label, second.reason) == ("standard", "QUOTA_EXCEEDED_premium")
        status = second.quota_status.models_status["premium"]
        assert (status.spend_usd_micros.usd, status.status) == (Decimal("1.2"), "EXCEEDED")
        budget.submit(second, input_tokens=0, output_tokens=400_000)
        with pytest.raises(weir.QuotaExceeded) as closed:
            budget.select(force_check=True)
        at = closed.value.resets_at
        assert at is not None
        assert timedelta(0) < at - datetime.now(timezone.utc) <= timedelta(days=1)
        server.admin("POST", "/v1/jobs/keeper-aggregate/run")
        assert budget.totals().totals.cost_usd_micros == 3_200_000
        today = datetime.now(timezone.utc).date()
        days = list(budget.days(today - timedelta(days=2), today, whole_org=True))
        assert sum(day.totals.cost_usd_micros for day in days) == 3_200_000
        assert isinstance(days[-1].date, date)


@pytest.mark.parametrize("fate", ["lose", "drop"])
def test_a_lost_batch_is_counted_once(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path, fate: str
) -> None:
    proxy.fate = lambda line: fate if sum("batch" in seen for seen in proxy.seen) < 3 and "batch" in line else "pass"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        for number in range(250):
            budget.report("premium", **MODEL, input_tokens=number, output_tokens=1)
        assert budget.flush(30)
    totals = server.totals(org)
    assert (totals["requests"], totals["input_tokens"]) == (250, sum(range(250)))


def test_what_the_server_refuses_for_good_is_set_apart(
    server: Server, client: weir.Client, org: str, queue_dir: Path
) -> None:
    taken = str(uuid.uuid4())
    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        budget.submit("premium", **MODEL, input_tokens=1, output_tokens=1, request_id=taken)
        budget.report("unknown", **MODEL, input_tokens=1, output_tokens=1)
        budget.report("premium", **MODEL, input_tokens=2, output_tokens=1, request_id=taken)
        old = datetime(2020, 1, 1, tzinfo=timezone.utc)
        budget.report("premium", **MODEL, input_tokens=1, output_tokens=1, timestamp=old)
        budget.report("premium", model_id="no-such-model", input_tokens=1, output_tokens=1)
        budget.report("premium", **MODEL, input_tokens=10, output_tokens=1)
        assert budget.flush(20)
        letters = budget.dead_letters()
        assert budget.queue.dead_letter_count == len(letters)
    codes = ["INVALID_MODEL_LABEL", "ALREADY_EXISTS", "INVALID_REQUEST"]
    assert [letter.error for letter in letters][:3] == codes
    assert "too old" in letters[2].reason
    assert letters[1].request_id == letters[1].report["request_id"] == taken
    assert server.totals(org)["requests"] + len(letters) == 6


def test_a_refused_request_is_split_until_the_poison_is_alone(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path
) -> None:
    problem = b'{"error": "PAYLOAD_TOO_LARGE", "detail": "too large", "status": 413}'
    refusal = reply(413, problem, content_type="application/problem+json")
    batches = 0

    def fate(line: str) -> str | bytes:
        nonlocal batches
        batches += "batch" in line
        # The whole of two, and then its first half.
        return refusal if "batch" in line and batches <= 2 else "pass"

    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        proxy.fate = lambda _: "drop"
        budget.report("premium", **MODEL, input_tokens=1, output_tokens=0)
        budget.report("premium", **MODEL, input_tokens=2, output_tokens=0)
        proxy.fate = fate
        assert budget.flush(30)
        assert [letter.report["input_tokens"] for letter in budget.dead_letters()] == [1]
    assert server.totals(org)["input_tokens"] == 2


def test_a_full_queue_says_so_or_waits(server: Server, org: str, queue_dir: Path) -> None:
    with proxy_to(server.url) as proxy, weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        proxy.fate = lambda _: "drop"
        budget = client.budget(org, "shop", queue_dir=queue_dir, queue_max=3)
        for _ in range(3):
            budget.report("premium", **MODEL, input_tokens=1, output_tokens=1)
        with pytest.raises(weir.QueueFull, match="3 reports"):
            budget.report("premium", **MODEL, input_tokens=1, output_tokens=1)
        assert not budget.flush(0.2)
        eventually(lambda: isinstance(budget.last_error, weir.Unreachable), 20)
        assert not budget.close(0.1)
        with pytest.raises(RuntimeError, match="closed"):
            budget.report("premium", **MODEL, input_tokens=1, output_tokens=1)
        patient = client.budget(org, "shop", queue_dir=queue_dir, queue_max=3, on_full="wait")
        waiting = threading.Thread(target=lambda: patient.report("premium", **MODEL, input_tokens=1, output_tokens=1))
        waiting.start()
        proxy.fate = lambda _: "pass"
        waiting.join(30)
        assert patient.close(20)
        assert len(patient.queue) == 0
    assert server.totals(org)["requests"] == 4


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"input_tokens": -1}, ValueError, "negative"),
        ({"input_tokens": 1.5}, TypeError, "whole number"),
        ({"model": ""}, ValueError, "label"),
        ({"model_id": None}, ValueError, "model_id"),
        ({"status": "FINE"}, ValueError, "status"),
        ({"request_id": "x"}, ValueError, "UUID"),
        ({"timestamp": datetime(2026, 1, 1)}, ValueError, "time zone"),
    ],
)
def test_a_report_that_cannot_be_right_is_refused_at_once(
    client: weir.Client, org: str, queue_dir: Path, changed: dict[str, object], error: type[Exception], words: str
) -> None:
    fields: dict[str, Any] = {"model": "premium", **MODEL, "input_tokens": 1, "output_tokens": 1, **changed}
    with client.budget(org, "shop", queue_dir=queue_dir) as budget:
        with pytest.raises(error, match=words):
            budget.report(**fields)
        assert len(budget.queue) == 0


PROGRAM = """
import sys, weir
client = weir.Client(sys.argv[1], api_key=sys.argv[2])
with client.budget(sys.argv[3], "shop", queue_dir=sys.argv[4]) as budget:
    for _ in range(3):
        budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
    assert budget.flush(30), budget.last_error
    assert not budget.dead_letters(), budget.dead_letters()
"""


@pytest.mark.parametrize("hours", [2, -120])
def test_a_wrong_clock_neither_loses_a_report_nor_moves_it_to_another_day(
    server: Server, org: str, queue_dir: Path, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right_ns() + hours * 3_600 * 10**9)
    monkeypatch.setattr(time, "time", lambda: right_ns() / 10**9 + hours * 3_600)
    with (
        weir.Client(server.url, api_key=ADMIN_KEY) as client,
        client.budget(org, "shop", queue_dir=queue_dir) as budget,
    ):
        for _ in range(3):
            budget.report("premium", **MODEL, input_tokens=5, output_tokens=0)
        assert budget.flush(30)
        assert not budget.dead_letters()
        assert budget.submit("premium", **MODEL, input_tokens=5, output_tokens=0).org_day == today(right_ns())
    assert server.totals(org)["requests"] == 4


def today(ns: int) -> date:
    return datetime.fromtimestamp(ns / 10**9, timezone.utc).date()


def test_a_forked_child_reports_too(server: Server, client: weir.Client, org: str, queue_dir: Path) -> None:
    program = (
        PROGRAM
        + """
import os
parent = client.budget(sys.argv[3], "shop", queue_dir=sys.argv[4])
parent.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
for _ in range(3):
    child = os.fork()
    if child == 0:
        parent.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
        assert parent.flush(30)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert parent.close(30)
"""
    )
    command = [sys.executable, "-c", program, server.url, ADMIN_KEY, org, str(queue_dir)]
    subprocess.run(command, check=True, timeout=60)
    assert server.totals(org)["requests"] == 7


def test_a_report_leaves_at_the_end_of_the_program(server: Server, org: str, queue_dir: Path) -> None:
    program = """
import sys, weir
budget = weir.Client(sys.argv[1], api_key=sys.argv[2]).budget(sys.argv[3], "shop", queue_dir=sys.argv[4])
budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=5, output_tokens=0)
"""
    subprocess.run([sys.executable, "-c", program, server.url, ADMIN_KEY, org, str(queue_dir)], check=True, timeout=60)
    eventually(lambda: server.totals(org)["requests"] == 1, 20)


def test_queues_of_apps_and_servers_are_apart(client: weir.Client, queue_dir: Path) -> None:
    budgets = [client.budget(org, app, queue_dir=queue_dir) for org, app in [("a", "b--c"), ("a--b", "c")]]
    for budget in budgets:
        budget.report("premium", **MODEL, input_tokens=1, output_tokens=1)
    folders = {budget.queue.folder for budget in budgets}
    assert len(folders) == 2
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)

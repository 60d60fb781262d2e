"""Rules that need no server."""

import json
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

import weir
from weir.clock import Clock, query_time, rfc3339
from weir.core import Request, path
from weir.decode import decode
from weir.errors import api_error
from weir.money import MicroUsd
from weir.progress import EventParser
from weir.queue import Bound, Queue, default_root, queue_folder
from weir.retry import Attempts, RetryPolicy
from weir.session import may_repeat
from weir.types import Job, ModelSelection


def test_unknown_fields_are_ignored_and_missing_ones_named() -> None:
    model = {"label": "a", "model_id": "m", "reason": "NORMAL", "description": "d", "surprise": {"x": 1}}
    assert decode(weir.types.RecommendedModel, model).label == "a"
    with pytest.raises(ValueError, match="reason"):
        decode(weir.types.RecommendedModel, {"label": "a", "model_id": "m"})
    with pytest.raises(ValueError, match="ModelSelection"):
        decode(ModelSelection, [])


def test_times_have_their_zone_and_money_is_exact() -> None:
    job = {"id": "1", "type": "t", "status": "PENDING", "attempts": 0, "created_at": "2026-01-15T12:00:00.500Z"}
    decoded = decode(Job, {**job, "updated_at": "2026-01-15T14:00:00+02:00"})
    assert decoded.created_at == datetime(2026, 1, 15, 12, 0, 0, 500_000, tzinfo=timezone.utc)
    assert decoded.updated_at.utctimetuple().tm_hour == 12
    assert MicroUsd(1).usd == Decimal("0.000001")
    assert MicroUsd(10**15 + 1).usd == Decimal("1000000000.000001")
    assert rfc3339(1_500) == "1970-01-01T00:00:01.500Z"
    with pytest.raises(ValueError, match="time zone"):
        query_time(datetime(2026, 1, 1))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_REQUEST", weir.InvalidRequest),
        (401, "UNAUTHORIZED", weir.Unauthorized),
        (403, "NOT_ALLOWED", weir.Forbidden),
        (404, "NOT_A_LEASE", weir.NotFound),
        (409, "LEASE_LOST", weir.LeaseLost),
        (410, "LEASE_EXPIRED", weir.LeaseExpired),
        (429, "RATE_LIMIT_EXCEEDED", weir.RateLimited),
        (429, "QUOTA_EXCEEDED", weir.QuotaExceeded),
        (429, "DAILY_LIMIT_EXCEEDED", weir.DailyLimitExceeded),
        (418, "NEW", weir.ApiError),
        (500, "INTERNAL_ERROR", weir.ServerError),
        (503, "SERVICE_UNAVAILABLE", weir.ServiceUnavailable),
    ],
)
def test_errors_have_one_hierarchy(status: int, code: str, kind: type[weir.ApiError]) -> None:
    body = json.dumps({"error": code, "detail": "why", "request_id": "r1", "details": {"field": "x"}}).encode()
    error = api_error(status, {"retry-after": "7"}, body)
    assert type(error) is kind
    assert (error.status, error.code, error.detail, error.request_id) == (status, code, "why", "r1")
    assert (error.retry_after, error.details) == (7.0, {"field": "x"})
    assert isinstance(error, weir.WeirError)


def test_a_proxy_without_problem_documents_is_understood() -> None:
    for body in (b"<html>Bad Gateway</html>", b"", b"[]", b"\xff"):
        error = api_error(502, {"x-request-id": "p1", "retry-after": "soon"}, body)
        assert isinstance(error, weir.ServiceUnavailable)
        assert (error.code, error.request_id, error.retry_after) == ("HTTP_502", "p1", None)


def test_only_what_may_be_repeated_is() -> None:
    def refusal(status: int, code: str) -> weir.ApiError:
        return api_error(status, {}, json.dumps({"error": code}).encode())

    safe, unsafe = Request("POST", "/", idempotent=True), Request("POST", "/")
    assert may_repeat(safe, refusal(503, "SERVICE_UNAVAILABLE"), waits=True)
    assert not may_repeat(unsafe, refusal(503, "SERVICE_UNAVAILABLE"), waits=True)
    assert may_repeat(safe, refusal(409, "CONFLICT"), waits=True)
    assert not may_repeat(safe, refusal(409, "STATE_CONFLICT"), waits=True)
    assert may_repeat(unsafe, refusal(429, "RATE_LIMIT_EXCEEDED"), waits=True)
    assert not may_repeat(safe, refusal(429, "RATE_LIMIT_EXCEEDED"), waits=False)
    assert not may_repeat(safe, refusal(429, "QUOTA_EXCEEDED"), waits=True)


def test_retries_are_bounded_in_number_and_in_time() -> None:
    clock = Clock()
    attempts = Attempts(RetryPolicy(attempts=4, first_pause_secs=0.0), clock)
    assert [attempts.next_pause(None) is None for _ in range(4)] == [False, False, False, True]
    timed = Attempts(RetryPolicy(attempts=100, total_secs=10), clock)
    assert timed.next_pause(9.0) is not None
    assert timed.next_pause(11.0) is None
    policy = RetryPolicy(first_pause_secs=0.1, longest_pause_secs=5)
    assert all(0.05 <= policy.pause(0) <= 0.1 for _ in range(100))
    assert all(2.5 <= policy.pause(1_000) <= 5 for _ in range(100))
    assert len({policy.pause(5) for _ in range(20)}) > 1


def test_parts_of_a_path_are_encoded() -> None:
    assert path("/a/{}/b", "x/../y#z?ü") == "/a/x%2F..%2Fy%23z%3F%C3%BC/b"


def test_events_are_parsed_as_the_standard_has_them() -> None:
    parser = EventParser()
    lines = [
        ": ping",
        "",
        "event: progress",
        "id: 7",
        "data: a",
        "data:b",
        "",
        "data: c",
        "",
        "id",
        "data",
        "",
        "x: y",
        "",
    ]
    events = [event for line in lines if (event := parser.feed(line)) is not None]
    assert [(event.name, event.data, event.id) for event in events] == [
        ("progress", "a\nb", "7"),
        ("message", "c", "7"),
        ("message", "", ""),
    ]


def test_a_queue_keeps_order_and_knows_its_size(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "q")
    numbers = [queue.put({"request_id": str(number)}, number, None) or 0 for number in range(5)]
    assert queue.put({"request_id": "3"}, 9, None) == numbers[3]
    assert (len(queue), queue.newest()) == (5, numbers[-1])
    assert [report.body["request_id"] for report in queue.head(2)] == ["0", "1"]
    queue.remove(numbers[:3])
    queue.close()
    again = Queue(tmp_path / "q")
    assert [report.at_ms for report in again.head(10)] == [3, 4]
    assert again.has_until(numbers[3])
    assert not again.has_until(numbers[2])
    with again.sending() as first, queue.sending() as second:
        assert (first, second) == (True, False)
    with queue.sending() as third:
        assert third
    for wrong in ({"size_max": 0}, {"on_full": "drop"}, {"wait_secs": -1}, {"wait_secs": float("nan")}):
        with pytest.raises(ValueError, match=r"queue_max|on_full|full_wait_secs"):
            Bound(**wrong)


def test_queues_are_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEIR_QUEUE_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "weir" / "queue"
    monkeypatch.setenv("WEIR_QUEUE_DIR", str(tmp_path / "q"))
    assert default_root() == tmp_path / "q"
    folder = queue_folder(tmp_path, "http://x", "../../etc", "app")
    assert folder.parent == tmp_path

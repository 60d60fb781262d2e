"""Whatever comes back, the caller gets an error of this package or, after a repetition, the right answer."""

import asyncio
import copy
import gc
import json
import pickle
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

import weir
from server import ADMIN_KEY, HTML, Proxy, Server, eventually, reply
from weir import Limit
from weir.clock import Clock
from weir.core import Request
from weir.errors import api_error
from weir.session import may_repeat

MODEL: dict[str, Any] = {"model_id": "amazon.nova-lite-v1:0"}


GARBAGE = {
    "html": reply(200, HTML),
    "nothing": reply(200),
    "half of a body": reply(200, b'{"degraded": fal'),
    "less than announced": reply(200, b'{"degraded": false', content_length="1000"),
    "a redirection": reply(302, location="https://example.com/login"),
    "not modified": reply(304),
    "no gzip": reply(200, b"plain", content_encoding="gzip"),
    "no http": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "too deep": reply(200, b"[" * 100_000),
    "a broken proxy": reply(500, HTML),
    "a lost proxy": reply(502, HTML),
    "a busy proxy": reply(429, HTML, retry_after="0"),
}


@pytest.fixture
def through(proxy: Proxy) -> Iterator[weir.Client]:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as client:
        yield client


@pytest.fixture(autouse=True)
def limits(client: weir.Client, resource: str) -> None:
    client.limiter().set_limits([Limit.per_hour("tpm", 1000)], resource=resource)


@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE)
def test_a_response_that_is_not_weirs_is_asked_for_again(
    client: weir.Client, proxy: Proxy, through: weir.Client, entity: str, resource: str, answer: bytes
) -> None:
    fates: Iterator[str | bytes] = iter([answer, "pass"] * 3)
    proxy.fate = lambda _: next(fates)
    with through.limiter().acquire(entity, resource, tpm=600, patience=30) as lease:
        lease.actual(tpm=100)
    assert through.limiter().availability(entity, resource).limits[0].available == 900
    assert len(proxy.seen) == 6


@pytest.mark.parametrize(
    "answer", [GARBAGE["html"], GARBAGE["no gzip"], GARBAGE["a redirection"], reply(200, b'{"a": 1}')]
)
def test_what_never_gets_an_answer_is_an_error_of_this_package(
    proxy: Proxy, entity: str, resource: str, answer: bytes
) -> None:
    proxy.fate = lambda _: answer
    retry = weir.RetryPolicy(attempts=2, first_pause_secs=0)
    with weir.Client(proxy.url, api_key=ADMIN_KEY, retry=retry) as through:
        with pytest.raises(weir.InvalidResponse, match="/acquire: "):
            through.limiter().acquire(entity, resource, tpm=1)
        with through.limiter(on_unreachable="allow").acquire(entity, resource, tpm=1) as lease:
            assert lease.is_degraded
        for call in (
            lambda: list(through.limiter().entities()),
            lambda: through.limiter().get_entity("a"),
            through.whoami,
            lambda: next(through.practice.follow("problem-extraction", "a")),
            lambda: through.practice.claim("problem-extraction", "host-1"),
        ):
            with pytest.raises(weir.InvalidResponse):
                call()
    with weir.Client(proxy.url, client_id="a", client_secret="b", retry=retry) as through:
        with pytest.raises(weir.InvalidResponse, match="/auth/token"):
            through.whoami()


def test_garbage_does_not_hide_the_exception_of_the_block(
    client: weir.Client, proxy: Proxy, entity: str, resource: str
) -> None:
    with weir.Client(proxy.url, api_key=ADMIN_KEY, retry=weir.RetryPolicy(attempts=1)) as through:
        with pytest.raises(KeyError), through.limiter().acquire(entity, resource, tpm=1):
            proxy.fate = lambda _: GARBAGE["html"]
            raise KeyError
        proxy.fate = lambda _: "pass"
        closed = through.limiter().acquire(entity, resource, tpm=1)
    with pytest.raises(KeyError), closed:
        raise KeyError


@pytest.mark.parametrize("answer", [GARBAGE["html"], reply(200, b'{"results": []}'), reply(200, b'{"results": [{}]}')])
def test_reports_outlive_responses_that_are_not_weirs(
    server: Server, proxy: Proxy, through: weir.Client, org: str, queue_dir: Path, answer: bytes
) -> None:
    proxy.fate = lambda line: answer if "batch" in line else "pass"
    with through.budget(org, "shop", queue_dir=queue_dir) as budget:
        budget.report("premium", **MODEL, input_tokens=7, output_tokens=0)
        eventually(lambda: isinstance(budget.last_error, weir.InvalidResponse), 20)
        proxy.fate = lambda _: "pass"
        assert budget.flush(30)
        assert budget.last_error is None
        assert not budget.dead_letters()
    assert server.totals(org)["input_tokens"] == 7


def test_retry_after_is_understood_however_it_is_written() -> None:
    def seconds(text: str) -> float | None:
        now = {"date": formatdate(1_000_000, usegmt=True)}
        return api_error(429, {"retry-after": text, **now}, b"").retry_after

    assert seconds("7") == 7
    assert seconds(formatdate(1_000_090, usegmt=True)) == 90
    assert seconds(formatdate(999_000, usegmt=True)) == 0
    assert seconds("99999999999") == 99_999_999_999
    for nonsense in ("", "soon", "nan", "inf", "1e999", "Mon, 99 Foo"):
        assert seconds(nonsense) is None, nonsense
    assert seconds("-5") == 0
    error = api_error(429, {}, json.dumps({"details": {"retry_after_ms": -1}}).encode())
    assert isinstance(error, weir.RateLimited)
    assert error.wait_seconds >= 0


def test_a_wait_beyond_all_patience_is_refused_at_once(
    proxy: Proxy, through: weir.Client, entity: str, resource: str
) -> None:
    proxy.fate = lambda _: reply(429, HTML, retry_after="99999999999")
    with pytest.raises(weir.RateLimited) as refused:
        through.limiter().acquire(entity, resource, tpm=1, patience=60)
    assert refused.value.wait_seconds == 99_999_999_999
    with pytest.raises(weir.RateLimited):
        through.whoami()
    assert len(proxy.seen) == 2
    assert may_repeat(Request("POST", "/"), api_error(429, {}, HTML), waits=True)


def test_errors_pass_between_processes() -> None:
    problem = {"error": "RATE_LIMIT_EXCEEDED", "detail": "why", "request_id": "r", "details": {"retry_after_ms": 5}}
    refused = api_error(429, {"retry-after": "1", "x-other": "y"}, json.dumps(problem).encode())
    for error in (refused, weir.Unreachable("gone", maybe_done=True), weir.QueueFull("full")):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is type(error)
            assert str(twin) == str(error)
            assert {**vars(twin)} == {**vars(error)}


def test_a_clock_that_jumps_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, right_ns = Clock(), time.time_ns
    two_days = 2 * 86_400 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: right_ns() + two_days)
    clock.observe({"date": formatdate(right_ns() / 10**9, usegmt=True)})
    assert clock.skew_ms is not None
    assert abs(clock.skew_ms + 2 * 86_400_000) < 10_000
    monkeypatch.setattr(time, "time_ns", right_ns)
    # Dated by the old difference, a report of now would be two days old, and refused for good.
    assert clock.skew_ms is None
    assert abs(clock.server_ms() - right_ns() // 10**6) < 10_000
    for wrong in ("", "yesterday", "Mon, 99 Jan 2026 00:00:00 GMT"):
        clock.observe({"date": wrong})
    assert clock.skew_ms is None


def test_an_address_that_is_too_long_is_refused_as_an_argument(client: weir.Client, resource: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        client.limiter().get_entity("ü" * 30_000)
    with pytest.raises(ValueError, match="too long"):
        client.limiter().availability("u" * 100_000, resource)


@pytest.mark.parametrize("key", ["", "a\nb", " a", "é", "x" * 65])
def test_a_wrong_idempotency_key_is_refused_at_once(
    through: weir.Client, proxy: Proxy, entity: str, resource: str, key: str
) -> None:
    with pytest.raises(ValueError, match="idempotency_key"):
        through.limiter().acquire(entity, resource, tpm=1, idempotency_key=key)
    assert proxy.seen == []


def test_a_client_of_fifty_threads_settles_every_lease(client: weir.Client, entity: str, resource: str) -> None:
    client.limiter().set_limits([Limit.per_hour("tpm", 10**6)], resource=resource)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(4):
                with client.limiter().acquire(entity, resource, tpm=100, patience=30) as lease:
                    lease.actual(tpm=10)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    # What is refilled meanwhile can only lift it.
    assert client.limiter().availability(entity, resource).limits[0].available >= 10**6 - 50 * 4 * 10


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_asynchronous_client_outlives_its_event_loop(server: Server, entity: str, resource: str) -> None:
    use_on_three_loops(server.url, entity, resource)
    gc.collect()  # what the first loop left open is collected here, and not in another test


def use_on_three_loops(url: str, entity: str, resource: str) -> None:
    client = weir.AsyncClient(url, api_key=ADMIN_KEY)

    async def work() -> None:
        async with client.limiter().acquire(entity, resource, tpm=10) as lease:
            lease.actual(tpm=1)

    asyncio.run(work())
    asyncio.run(work())
    asyncio.run(client.close())

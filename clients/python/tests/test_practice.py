"""Daily limits count once; a worker keeps its job alive, and a follower misses no step."""

import asyncio
import threading
import time
import uuid

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server, eventually, proxy_to


@pytest.fixture
def user(client: weir.Client) -> str:
    return client.practice.create_user(f"{uuid.uuid4().hex}@example.com", "Ann Lee").id


def submitted(client: weir.Client) -> str:
    """A problem extraction, of which each test claims its own: the others are claimed and ended."""
    url = f"https://example.com/{uuid.uuid4().hex}"
    return client.practice.submit_job("problem-extraction", {"problem_url": url}).id


def test_usage_is_taken_once_and_then_refused(client: weir.Client, proxy: Proxy, user: str) -> None:
    fates = iter(["lose", "pass"])
    proxy.fate = lambda _: next(fates)
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        taken = through.practice.take_usage(user, "hint", problem_id="1000", metadata={"page": 1})
    assert (taken.count, taken.limit, taken.remaining, taken.is_repeated) == (1, 5, 4, True)
    for _ in range(4):
        client.practice.take_usage(user, "hint")
    with pytest.raises(weir.DailyLimitExceeded) as refused:
        client.practice.take_usage(user, "hint")
    assert refused.value.resets_at == taken.resets_at
    counts = {one.action: one.count for one in client.practice.usage(user).actions}
    assert counts == {"hint": 5, "execution": 0}
    assert [one.problem_id for one in client.practice.usage_log(user)][-1] == "1000"
    pro = next(plan for plan in client.practice.plans() if plan.name == "Pro")
    assert client.practice.move_user(user, pro.id).plan_id == pro.id
    assert client.practice.take_usage(user, "hint").count == 6
    assert [one.id for one in client.practice.users(email=client.practice.get_user(user).email)] == [user]


def test_a_run_is_recorded_once(client: weir.Client, proxy: Proxy, user: str) -> None:
    fates = iter(["lose", "pass"])
    proxy.fate = lambda _: next(fates)
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        run = through.practice.record_run("baekjoon", "1000", "print(3)", user_id=user, language="python", passed=3)
    assert [one.id for one in client.practice.runs(user)] == [run.id]
    assert client.practice.get_run(run.id).code == "print(3)"
    assert (run.passed_count, run.total_count) == (3, 3)
    public = client.practice.record_run("baekjoon", "1000", "print(4)", user_id=user, public=True)
    assert next(client.practice.feed()).id == public.id


def test_a_worker_completes_a_job_and_a_follower_sees_it(server: Server, client: weir.Client) -> None:
    job = submitted(client)
    steps: list[str] = []
    follower = threading.Thread(
        target=lambda: steps.extend(s.step for s in client.practice.follow("problem-extraction", job))
    )
    follower.start()
    claim = client.practice.claim("problem-extraction", "host-1", lease_ms=1000)
    assert claim is not None
    with claim:
        assert claim.job.id == job
        claim.progress("fetching", "started")
        eventually(lambda: steps == ["fetching"], 20)
        lease = client.practice.get_job("problem-extraction", job).lease
        assert lease is not None
        eventually(lambda: renewed(client, job) > lease.expires_at.timestamp() + 1, 20)
        claim.progress("parsing", "completed", "2 of 2")
        done = claim.complete(problem={"platform": "baekjoon", "problem_id": "1001"})
    follower.join(20)
    assert (done.status, done.attempts, steps) == ("COMPLETED", 1, ["fetching", "parsing"])
    assert [step.step for step in client.practice.progress("problem-extraction", job)] == steps
    assert client.practice.claim("problem-extraction", "host-1") is None


def renewed(client: weir.Client, job: str) -> float:
    lease = client.practice.get_job("problem-extraction", job).lease
    return lease.expires_at.timestamp() if lease else 0.0


def test_an_exception_fails_the_job_and_a_retry_puts_it_back(client: weir.Client) -> None:
    job = submitted(client)
    claim = client.practice.claim("problem-extraction", "host-1")
    assert claim is not None
    with pytest.raises(RuntimeError), claim:
        raise RuntimeError("no such page")
    failed = client.practice.get_job("problem-extraction", job)
    assert (failed.status, failed.error_message) == ("FAILED", "RuntimeError: no such page")
    assert [one.id for one in client.practice.jobs("problem-extraction", status="FAILED")] == [job]
    assert client.practice.retry_job("problem-extraction", job).status == "PENDING"
    assert client.practice.cancel_job("problem-extraction", job).status == "CANCELLED"


def test_a_worker_that_lost_its_job_is_told(client: weir.Client) -> None:
    job = submitted(client)
    claim = client.practice.claim("problem-extraction", "host-1", lease_ms=1500)
    assert claim is not None
    with claim:
        client.practice.cancel_job("problem-extraction", job)
        eventually(lambda: claim.is_lost, 20)
        with pytest.raises(weir.LeaseLost):
            claim.complete(problem={"platform": "baekjoon", "problem_id": "1"})
    assert client.practice.get_job("problem-extraction", job).status == "CANCELLED"


def test_a_follower_resumes_after_the_server_was_killed(own_server: Server) -> None:
    with weir.Client(own_server.url, api_key=ADMIN_KEY) as client:
        job = submitted(client)
        steps: list[str] = []
        follower = threading.Thread(
            target=lambda: steps.extend(step.message for step in client.practice.follow("problem-extraction", job))
        )
        follower.start()
        claim = client.practice.claim("problem-extraction", "host-1", lease_ms=60_000)
        assert claim is not None
        with claim:
            for number in range(10):
                claim.progress("fetching", message=str(number))
                if number in (3, 6):
                    eventually(lambda known=number: len(steps) > known, 20)  # type: ignore[misc]
                    own_server.kill()
                    own_server.start()
            claim.complete(problem={"platform": "baekjoon", "problem_id": "1"})
        follower.join(30)
        assert steps == [str(number) for number in range(10)]


def test_the_asynchronous_worker_and_follower(server: Server, client: weir.Client) -> None:
    job = submitted(client)

    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a:

            async def follow() -> list[str]:
                return [step.step async for step in a.practice.follow("problem-extraction", job)]

            following = asyncio.create_task(follow())
            claim = await a.practice.claim("problem-extraction", "host-2", lease_ms=1000)
            assert claim is not None
            async with claim:
                await claim.progress("fetching", "started")
                first = renewed(client, job)
                while await asyncio.to_thread(renewed, client, job) < first + 1:
                    await asyncio.sleep(0.05)
                await claim.complete(problem={"platform": "baekjoon", "problem_id": "1"})
            assert await asyncio.wait_for(following, 20) == ["fetching"]

    asyncio.run(main())
    assert client.practice.get_job("problem-extraction", job).attempts == 1


def test_a_job_may_be_silent_for_longer_than_all_attempts_take(
    server: Server, client: weir.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(client)
    steps: list[str] = []
    with proxy_to(server.url) as proxy, weir.Client(proxy.url, api_key=ADMIN_KEY, timeout=0.2) as follower:
        hours = 0.0
        monkeypatch.setattr(follower._session.clock, "monotonic", lambda: time.monotonic() + hours)
        following = threading.Thread(
            target=lambda: steps.extend(s.step for s in follower.practice.follow("problem-extraction", job))
        )
        following.start()
        eventually(lambda: proxy.seen, 20)
        claim = client.practice.claim("problem-extraction", "host-1", lease_ms=60_000)
        assert claim is not None
        with claim:
            hours = 3600.0
            proxy.drop_connections()
            eventually(lambda: len(proxy.seen) == 2, 20)
            # The server is silent between steps, also for longer than one answer may take.
            time.sleep(0.5)
            assert len(proxy.seen) == 2
            claim.progress("fetching")
            eventually(lambda: steps == ["fetching"], 20)
            claim.complete(problem={"platform": "baekjoon", "problem_id": "1"})
        following.join(20)
    assert steps == ["fetching"]


def test_a_cancelled_worker_ends_while_its_heartbeat_is_under_way(client: weir.Client, proxy: Proxy) -> None:
    job = submitted(client)
    held = threading.Event()
    proxy.fate = lambda line: held if "heartbeat" in line else "pass"

    async def main() -> None:
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:
            claim = await a.practice.claim("problem-extraction", "host-1", lease_ms=1000)
            assert claim is not None
            assert claim.job.id == job
            after: list[str] = []

            async def work() -> None:
                async with claim:
                    await asyncio.to_thread(eventually, lambda: any("heartbeat" in line for line in proxy.seen), 20)
                    asyncio.get_running_loop().call_soon(task.cancel)
                await asyncio.sleep(0)
                after.append("went on")

            task = asyncio.create_task(work())
            with pytest.raises(asyncio.CancelledError):
                await task
            assert after == []

    asyncio.run(main())
    held.set()
    client.practice.cancel_job("problem-extraction", job)


def test_heartbeats_go_on_after_an_answer_that_cannot_be_read(client: weir.Client, proxy: Proxy) -> None:
    job = submitted(client)
    page = b"HTTP/1.1 200 X\r\ncontent-length: 1\r\nconnection: close\r\n\r\n?"
    beats = 0

    def fate(line: str) -> str | bytes:
        nonlocal beats
        beats += "heartbeat" in line
        return page if beats == 1 else "pass"

    proxy.fate = fate
    with weir.Client(proxy.url, api_key=ADMIN_KEY, retry=weir.RetryPolicy(attempts=1)) as through:
        claim = through.practice.claim("problem-extraction", "host-1", lease_ms=1500)
        assert claim is not None
        with claim:
            eventually(lambda: beats >= 3, 20)
            assert claim.complete(problem={"platform": "baekjoon", "problem_id": "1"}).id == job

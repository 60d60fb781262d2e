"""The asynchronous client does the same; a cancelled task leaves nothing taken."""

import asyncio
import gc
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server, eventually
from weir import Limit


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


@pytest.fixture(autouse=True)
def limits(client: weir.Client, resource: str) -> None:
    client.limiter().set_limits([Limit.per_hour("rpm", 10), Limit.per_hour("tpm", 1000)], resource=resource)


def tokens(client: weir.Client, entity: str, resource: str) -> int:
    statuses = client.limiter().availability(entity, resource).limits
    return next(status.available for status in statuses if status.name == "tpm")


def test_a_block_settles_and_an_exception_rolls_back(
    server: Server, client: weir.Client, entity: str, resource: str
) -> None:
    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a:
            async with a.limiter().acquire(entity, resource, rpm=1, tpm=600) as lease:
                lease.actual(tpm=250)
            assert tokens(client, entity, resource) == 750
            with pytest.raises(KeyError):
                async with a.limiter().acquire(entity, resource, tpm=600):
                    raise KeyError
            assert tokens(client, entity, resource) == 750
            held = await a.limiter().acquire(entity, resource, tpm=700)
            with pytest.raises(weir.RateLimited):
                await a.limiter().acquire(entity, resource, tpm=100)
            await held.rollback()
            assert [one.id async for one in a.limiter().entities()] == [one.id for one in client.limiter().entities()]

    run(main())


def test_patience_does_not_block_other_tasks(server: Server, client: weir.Client, entity: str, resource: str) -> None:
    client.limiter().set_limits([Limit.per_second("rps", 1)], entity=entity, resource=resource)

    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a:
            limiter = a.limiter()
            leases = await asyncio.gather(*(limiter.acquire(entity, resource, rps=1, patience=20) for _ in range(3)))
            assert len({lease.id for lease in leases}) == 3

    run(main())


def test_cancellation_while_the_answer_is_under_way_gives_back(
    client: weir.Client, proxy: Proxy, entity: str, resource: str
) -> None:
    held = threading.Event()
    proxy.fate = lambda line: held if "acquire" in line and len(proxy.seen) == 1 else "pass"

    async def main() -> None:
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:

            async def work() -> None:
                await a.limiter().acquire(entity, resource, tpm=600)

            task = asyncio.create_task(work())
            await asyncio.to_thread(eventually, lambda: proxy.replies, 10)
            assert tokens(client, entity, resource) == 400, "the server has granted it"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert tokens(client, entity, resource) == 1000

    run(main())
    held.set()
    assert [reply for reply in proxy.replies if " 200 " not in reply] == []


def test_cancellation_inside_the_block_rolls_back(
    server: Server, client: weir.Client, entity: str, resource: str
) -> None:
    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a:
            inside = asyncio.Event()

            async def work() -> None:
                async with a.limiter().acquire(entity, resource, tpm=600):
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert tokens(client, entity, resource) == 1000

    run(main())


@pytest.mark.parametrize("error", [None, KeyError])
def test_cancellation_while_the_block_settles_does_not_stop_it(
    client: weir.Client, proxy: Proxy, entity: str, resource: str, error: type[Exception] | None
) -> None:
    held = threading.Event()
    # The request is held before the server has it.
    proxy.fate = lambda line: pause(held) if "/leases/" in line else "pass"

    async def main() -> None:
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:

            async def work() -> None:
                async with a.limiter().acquire(entity, resource, tpm=600) as lease:
                    if error is not None:
                        raise error
                    lease.actual(tpm=100)

            task = asyncio.create_task(work())
            await asyncio.to_thread(eventually, lambda: len(proxy.seen) == 2, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            held.set()
        assert tokens(client, entity, resource) == (900 if error is None else 1000)

    run(main())


def test_a_settlement_that_fails_after_its_task_was_cancelled_is_logged(
    proxy: Proxy, entity: str, resource: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = threading.Event()
    proxy.fate = lambda line: pause(held) if "/leases/" in line else "pass"

    async def main() -> None:
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:

            async def work() -> None:
                async with a.limiter().acquire(entity, resource, tpm=600) as lease:
                    lease.actual(images=1)

            task = asyncio.create_task(work())
            await asyncio.to_thread(eventually, lambda: len(proxy.seen) == 2, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            held.set()

    run(main())
    assert [
        record.message
        for record in caplog.records
        if "was not settled" in record.message and "images" in record.message
    ]


def pause(until: threading.Event) -> str:
    until.wait(30)
    return "pass"


def test_tokens_that_were_used_are_committed_although_the_task_is_cancelled(
    server: Server, client: weir.Client, entity: str, resource: str
) -> None:
    async def main() -> None:
        async with weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a:
            inside = asyncio.Event()

            async def work() -> None:
                async with a.limiter().acquire(entity, resource, tpm=600) as lease:
                    lease.actual(tpm=100)
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert tokens(client, entity, resource) == 900

    run(main())


def test_an_exception_passes_at_once_when_its_task_is_cancelled_and_no_server_is_there(
    proxy: Proxy, entity: str, resource: str
) -> None:
    async def main() -> None:
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:
            inside = asyncio.Event()

            async def work() -> None:
                async with a.limiter().acquire(entity, resource, tpm=600):
                    proxy.fate, proxy.seen = (lambda _: "drop"), []
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(proxy.seen) <= 2

    run(main())


def test_a_degraded_grant_needs_no_undoing(proxy: Proxy, entity: str, resource: str) -> None:
    body = b'{"degraded": true, "limits": []}'
    proxy.fate = lambda _: b"HTTP/1.1 200 X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(body), body)

    async def main() -> None:
        problems: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with weir.AsyncClient(proxy.url, api_key=ADMIN_KEY) as a:
            acquiring = a.limiter().acquire(entity, resource, tpm=1)
            async with acquiring as lease:
                assert lease.is_degraded
            a._driver.spawn(acquiring._attempt.undo())
        gc.collect()
        assert problems == []

    run(main())


def test_reports_are_counted(server: Server, org: str, queue_dir: Path) -> None:
    async def main() -> None:
        async with (
            weir.AsyncClient(server.url, api_key=ADMIN_KEY) as a,
            a.budget(org, "shop", queue_dir=queue_dir) as budget,
        ):
            pick = await budget.select()
            assert await budget.select() is pick
            ids = await asyncio.gather(*(budget.report(pick, input_tokens=10, output_tokens=1) for _ in range(20)))
            assert len(set(ids)) == 20
            assert await budget.flush(20)
            assert (await budget.submit(pick, input_tokens=1_000_000, output_tokens=0)).cost_usd_micros.usd == 3
        assert server.totals(org)["requests"] == 21

    run(main())

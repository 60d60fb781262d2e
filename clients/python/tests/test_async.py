"""The asynchronous client does the same; a cancelled task leaves nothing taken."""

import asyncio
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

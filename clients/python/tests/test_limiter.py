"""Leases are settled in one call, retried safely, and given back when they should be."""

import socket
import subprocess
import sys
import threading
from typing import Any

import httpx
import pytest

import weir
from server import ADMIN_KEY, Proxy, Server
from weir import Limit


def available(client: weir.Client, entity: str, resource: str) -> dict[str, int]:
    return {status.name: status.available for status in client.limiter().availability(entity, resource).limits}


@pytest.fixture(autouse=True)
def limits(client: weir.Client, resource: str) -> None:
    limits = [Limit.per_hour("rpm", 10), Limit.per_hour("tpm", 1000)]
    client.limiter().set_limits(limits, resource=resource)


def test_a_block_settles_with_what_was_used(client: weir.Client, proxy: Proxy, entity: str, resource: str) -> None:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        with through.limiter("default").acquire(entity, resource, rpm=1, tpm=600) as lease:
            assert available(client, entity, resource) == {"rpm": 9, "tpm": 400}
            lease.actual(tpm=250)
    assert available(client, entity, resource) == {"rpm": 9, "tpm": 750}
    assert [line.split("/")[-2].split(" ")[0] for line in proxy.seen] == ["acquire", "commit"]


def test_a_block_without_figures_keeps_the_tokens(client: weir.Client, entity: str, resource: str) -> None:
    with client.limiter().acquire(entity, resource, {"tpm": 600}):
        pass
    assert available(client, entity, resource)["tpm"] == 400


def test_an_exception_rolls_back_and_passes(client: weir.Client, entity: str, resource: str) -> None:
    with pytest.raises(KeyError), client.limiter().acquire(entity, resource, rpm=1, tpm=600):
        raise KeyError("the model failed")
    assert available(client, entity, resource) == {"rpm": 10, "tpm": 1000}


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_tokens_that_were_used_are_committed_although_the_block_raises(
    client: weir.Client, entity: str, resource: str, error: type[BaseException]
) -> None:
    with pytest.raises(error), client.limiter().acquire(entity, resource, rpm=1, tpm=600) as lease:
        lease.actual(tpm=250)
        raise error("after the call")
    assert available(client, entity, resource) == {"rpm": 9, "tpm": 750}


def test_a_lease_can_be_settled_by_hand(client: weir.Client, entity: str, resource: str) -> None:
    lease = client.limiter().acquire(entity, resource, tpm=100)
    assert lease.adjust(tpm=50).net == {"tpm": 150}
    assert lease.release(tpm=30).net == {"tpm": 120}
    state = lease.commit(tpm=70)
    assert (state.state, state.net) == ("committed", {"tpm": 70})
    with pytest.raises(weir.Conflict) as refused:
        lease.rollback()
    assert refused.value.code == "STATE_CONFLICT"
    assert available(client, entity, resource)["tpm"] == 930


def test_a_refusal_says_what_is_missing_and_when(client: weir.Client, entity: str, resource: str) -> None:
    client.limiter().acquire(entity, resource, tpm=900)
    with pytest.raises(weir.RateLimited) as refused:
        client.limiter().acquire(entity, resource, rpm=1, tpm=500)
    error = refused.value
    by_name = {status.name: status for status in error.limits}
    assert (by_name["tpm"].available, by_name["tpm"].deficit) == (100, 400)
    assert by_name["rpm"].deficit == 0
    assert 1400 < error.wait_seconds <= 1440
    assert error.retry_after is not None
    assert error.status == 429
    assert error.request_id


def test_patience_waits_for_tokens(client: weir.Client, entity: str, resource: str) -> None:
    limiter = client.limiter()
    limiter.set_limits([Limit.per_second("rps", 2)], entity=entity, resource=resource)
    limiter.acquire(entity, resource, rps=2)
    with pytest.raises(weir.RateLimited):
        limiter.acquire(entity, resource, rps=2, patience=0.2)
    assert limiter.acquire(entity, resource, rps=2, patience=10).limits[0].available == 0


@pytest.mark.parametrize("fate", ["lose", "drop"])
def test_a_lost_message_takes_and_settles_once(
    client: weir.Client, proxy: Proxy, entity: str, resource: str, fate: str
) -> None:
    fates = iter([fate, fate, "pass"] * 2)
    proxy.fate = lambda _: next(fates)
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        with through.limiter().acquire(entity, resource, rpm=1, tpm=600) as lease:
            assert available(client, entity, resource) == {"rpm": 9, "tpm": 400}
            lease.actual(tpm=250)
    assert len(proxy.seen) == 6
    assert available(client, entity, resource) == {"rpm": 9, "tpm": 750}


def test_levels_and_entities_are_configured(client: weir.Client, entity: str, resource: str) -> None:
    limiter = client.limiter()
    parent = entity + "-team"
    assert limiter.put_entity(parent, name="Team", metadata={"plan": "gold"}).metadata == {"plan": "gold"}
    child = limiter.put_entity(entity, parent=parent, cascade=True)
    assert (child.parent, child.cascade) == (parent, True)
    assert [one.id for one in limiter.children(parent)] == [entity]
    assert entity in [one.id for one in limiter.entities()]
    limits = [Limit.per_minute("tpm", 500, burst=800)]
    assert limiter.set_limits(limits, entity=parent, resource=resource).limits == limits
    assert limiter.get_limits(entity=parent, resource=resource).limits[0].capacity == 800
    with limiter.acquire(entity, resource, tpm=100) as lease:
        assert {(status.entity, status.available) for status in lease.limits} == {(entity, 900), (parent, 700)}
    assert limiter.resolve(entity, resource).limits_from == "resource"
    limiter.delete_limits(entity=parent, resource=resource)
    with pytest.raises(weir.NotFound):
        limiter.get_limits(entity=parent, resource=resource)


def test_usage_is_read(server: Server, client: weir.Client, entity: str, resource: str) -> None:
    with client.limiter().acquire(entity, resource, tpm=30):
        pass
    server.admin("POST", "/v1/jobs/limiter-usage/run")
    snapshots = list(client.limiter().usage(entity=entity, window="daily"))
    assert [(one.resource, one.used) for one in snapshots] == [(resource, {"tpm": 30})]
    assert client.limiter().usage_summary(entity=entity).total == {"tpm": 30}


@pytest.mark.parametrize(
    ("entity_id", "named", "error"),
    [
        ("user", {}, ValueError),
        ("user", {"tpm": 1.5}, TypeError),
        ("user", {"tpm": True}, TypeError),
        ("user", {"tpm": "1"}, TypeError),
        ("user", {"tpm": 10**30}, weir.InvalidRequest),
        ("user", {"tpm": -1}, weir.InvalidRequest),
        ("user", {"tpm": 0}, weir.InvalidRequest),
        ("ü\U0001f600", {"tpm": 1}, weir.InvalidRequest),
        ("u" * 10_000, {"tpm": 1}, weir.InvalidRequest),
        ("user", {"tpm": 1, "patience": -1}, ValueError),
        ("user", {"tpm": 1, "patience": float("nan")}, ValueError),
        ("user", {"tpm": 1, "patience": None}, TypeError),
        ("user", {"tpm": 1001}, weir.InvalidRequest),
        ("user", {"tpm": 1001, "patience": 10**400}, weir.InvalidRequest),
        ("user", {"tpm": 10**5000}, ValueError),
        ("user", {"images": 1}, weir.InvalidRequest),
        ("a#b", {"tpm": 1}, weir.InvalidRequest),
    ],
)
def test_bad_input_is_refused(
    client: weir.Client, resource: str, entity_id: str, named: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.limiter().acquire(entity_id, resource, **named)


def test_ids_do_not_leave_their_place_in_a_path(client: weir.Client) -> None:
    for hostile in ("", ".", ".."):
        with pytest.raises(ValueError, match="cannot be part of the path"):
            client.limiter().get_entity(hostile)
    with pytest.raises(weir.ApiError):
        client.limiter().get_entity("../../v1/tokens")


def test_the_caller_chooses_what_an_unreachable_server_means() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    retry = weir.RetryPolicy(attempts=2, first_pause_secs=0.01)
    with weir.Client(url, api_key="any", retry=retry) as client:
        with pytest.raises(weir.Unreachable) as closed:
            client.limiter().acquire("u", "m", tpm=1)
        assert not closed.value.maybe_done
        with client.limiter(on_unreachable="allow").acquire("u", "m", tpm=1) as lease:
            assert lease.is_degraded
            assert lease.id == ""
            lease.actual(tpm=5)
            assert (lease.adjust(tpm=1).state, lease.release(tpm=1).state) == ("open", "open")
            assert lease.rollback().state == "rolled_back"
            state = lease.commit()
            assert (state.state, state.net, state.degraded) == ("committed", {}, True)
        with pytest.raises(ValueError, match="on_unreachable"):
            client.limiter(on_unreachable="maybe")  # type: ignore[arg-type]


def test_threads_share_a_client_and_never_take_more_than_there_is(
    client: weir.Client, entity: str, resource: str
) -> None:
    granted: list[int] = []

    def take() -> None:
        for _ in range(5):
            try:
                client.limiter().acquire(entity, resource, tpm=70)
            except weir.RateLimited:
                continue
            granted.append(70)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 980


def test_an_interrupt_while_acquiring_gives_back(
    client: weir.Client, proxy: Proxy, entity: str, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        send = through._driver.http.request

        def interrupted(**arguments: Any) -> httpx.Response:
            monkeypatch.undo()
            send(**arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(through._driver.http, "request", interrupted)
        with pytest.raises(KeyboardInterrupt):
            through.limiter().acquire(entity, resource, tpm=600)
        assert available(client, entity, resource)["tpm"] == 1000


def test_an_interrupt_inside_the_block_rolls_back_and_waits_for_no_server(
    client: weir.Client, proxy: Proxy, entity: str, resource: str
) -> None:
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        with pytest.raises(KeyboardInterrupt), through.limiter().acquire(entity, resource, tpm=600):
            raise KeyboardInterrupt
        assert available(client, entity, resource)["tpm"] == 1000
        lease = through.limiter().acquire(entity, resource, tpm=600)
        proxy.fate, proxy.seen = (lambda _: "drop"), []
        with pytest.raises(KeyboardInterrupt), lease:
            raise KeyboardInterrupt
        assert len(proxy.seen) <= 2
        proxy.fate = lambda _: "pass"
        lease.rollback()
    assert available(client, entity, resource)["tpm"] == 1000


def test_figures_can_be_corrected_and_name_any_limit(client: weir.Client, entity: str, resource: str) -> None:
    with client.limiter().acquire(entity, resource, tpm=600) as lease:
        lease.actual(tpm=100)
        lease.actual({"tpm": 250, "rpm": 3})
    assert available(client, entity, resource) == {"rpm": 7, "tpm": 750}
    lease = client.limiter().acquire(entity, resource, tpm=600)
    with pytest.raises(ValueError, match="tpm: -1 is negative"):
        lease.actual(tpm=-1)
    with pytest.raises(weir.InvalidRequest, match="images"), lease:
        lease.actual(images=1)
    lease.rollback()  # it was not settled, and can still be
    assert available(client, entity, resource) == {"rpm": 7, "tpm": 750}


class Index:
    """An integer of another library, like NumPy's."""

    def __index__(self) -> int:
        return 70


def test_whole_numbers_of_other_libraries_are_taken(client: weir.Client, entity: str, resource: str) -> None:
    with client.limiter().acquire(entity, resource, tpm=Index()) as lease:  # type: ignore[arg-type]
        lease.actual(tpm=Index())  # type: ignore[arg-type]
    assert available(client, entity, resource)["tpm"] == 930


def test_a_forked_child_does_not_read_its_parents_responses(
    server: Server, client: weir.Client, entity: str, resource: str
) -> None:
    program = """
import os, sys, weir
client = weir.Client(sys.argv[1], api_key=sys.argv[2])
names = [f"{sys.argv[3]}-{number}" for number in range(4)]
for name in names:
    client.limiter().put_entity(name)
own = names[0]
for name in names[1:]:
    if os.fork() == 0:
        own = name
        break
for _ in range(40):
    assert client.limiter().get_entity(own).id == own
if own == names[0]:
    for _ in names[1:]:
        assert os.wait()[1] == 0
    client.close()
os._exit(0)
"""
    command = [sys.executable, "-c", program, server.url, ADMIN_KEY, entity]
    subprocess.run(command, check=True, timeout=60)


def test_another_process_settles_a_lease_by_its_id(client: weir.Client, entity: str, resource: str) -> None:
    lease = client.limiter().acquire(entity, resource, tpm=600)
    with client.limiter().lease(lease.id) as other:
        other.actual(tpm=100)
    assert available(client, entity, resource)["tpm"] == 900
    for wrong in ("", "two words", None):
        with pytest.raises(ValueError, match="lease"):
            client.limiter().lease(wrong)  # type: ignore[arg-type]
    with pytest.raises(weir.NotFound):
        client.limiter().lease("no-lease").rollback()

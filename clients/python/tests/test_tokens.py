"""A client id and its secret get tokens, which are renewed in time, once for all threads."""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import weir
from server import Server, eventually, proxy_to
from weir.credentials import ClientCredentials


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose access tokens live for a minute, the shortest time that it takes."""
    config = "[auth]\naccess_token_secs = 60\n[keeper]\ntoken_rate = 0\nrefresh_rate = 0\n"
    server = Server(tmp_path_factory.mktemp("brief"), config).start()
    yield server
    server.kill()


@pytest.fixture
def app(brief: Server) -> tuple[str, str, str]:
    org = brief.org("org-" + uuid.uuid4().hex[:8])
    return (org, *brief.secret(org))


def test_threads_share_one_token_and_its_renewals(
    brief: Server, app: tuple[str, str, str], queue_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    org, client_id, secret = app
    with proxy_to(brief.url) as proxy:
        client = weir.Client(proxy.url, client_id=client_id, client_secret=secret)
        budget = client.budget(org, "shop", queue_dir=queue_dir)
        pick = budget.select()
        jumps = 0

        def clock() -> float:
            return time.monotonic() + 50 * jumps

        monkeypatch.setattr(client._session.clock, "monotonic", clock)
        began = clock()

        def work() -> None:
            for _ in range(10):
                budget.submit(pick, input_tokens=1, output_tokens=0)
                budget.report(pick, input_tokens=1, output_tokens=0)

        failures: list[BaseException] = []
        for _ in range(4):
            threads = [threading.Thread(target=guarded(work, failures)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            # Most of a token's minute passes for this client.
            jumps += 1
        assert failures == []
        assert budget.close(20)
        elapsed = clock() - began
        client.close()
        counted = [line for line in proxy.seen if "/auth/" in line]
    assert sum("/auth/token" in line for line in counted) == 1
    renewals = sum("/auth/refresh" in line for line in counted)
    # Every 48 of the minute's 60 seconds, by whichever thread comes first, the one that sends reports included.
    assert 3 <= renewals <= elapsed / 48 + 1
    assert brief.totals(org)["requests"] == 4 * 4 * 10 * 2


def test_an_event_loop_and_the_thread_that_sends_reports_share_the_renewals(
    brief: Server, app: tuple[str, str, str], queue_dir: Path
) -> None:
    org, client_id, secret = app
    with proxy_to(brief.url) as proxy:
        held = threading.Event()
        proxy.fate = lambda line: held if "/auth/" in line else "pass"

        async def main() -> None:
            async with weir.AsyncClient(proxy.url, client_id=client_id, client_secret=secret) as client:
                budget = client.budget(org, "shop", queue_dir=queue_dir)
                await budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=1, output_tokens=0)
                asking = [asyncio.create_task(budget.select()) for _ in range(5)]
                await asyncio.to_thread(eventually, lambda: any("/auth/" in line for line in proxy.seen), 20)
                await asyncio.sleep(0.5)
                assert not any(task.done() for task in asking)
                asking.pop().cancel()
                held.set()
                assert {pick.label for pick in await asyncio.gather(*asking)} == {"premium"}
                assert await budget.close(20)

        asyncio.run(main())
        assert sum("/auth/" in line for line in proxy.seen) == 1


def guarded(work: Callable[[], None], failures: list[BaseException]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    return run


def test_a_revoked_token_is_replaced(brief: Server, app: tuple[str, str, str], queue_dir: Path) -> None:
    org, client_id, secret = app
    with weir.Client(brief.url, client_id=client_id, client_secret=secret) as client:
        budget = client.budget(org, "shop", queue_dir=queue_dir)
        budget.select()
        credentials = client._session.credentials
        assert isinstance(credentials, ClientCredentials)
        token = credentials._token
        assert token is not None
        brief.admin("POST", "/auth/revoke", {"token": token.access})
        brief.admin("POST", "/auth/revoke", {"token": token.refresh})
        assert budget.select(force_check=True).label == "premium"
        assert credentials._token is not token


def test_a_wrong_secret_is_sent_once(brief: Server, app: tuple[str, str, str]) -> None:
    _, client_id, secret = app
    with (
        proxy_to(brief.url) as proxy,
        weir.Client(proxy.url, client_id=client_id, client_secret=secret + "x") as client,
    ):
        with pytest.raises(weir.Unauthorized):
            client.whoami()
        assert len(proxy.seen) == 1


def test_nobody_waits_for_a_renewal_while_the_token_is_valid(
    brief: Server, app: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client_id, secret = app
    with proxy_to(brief.url) as proxy, weir.Client(proxy.url, client_id=client_id, client_secret=secret) as client:
        assert client.whoami().subject
        later = time.monotonic() + 50
        monkeypatch.setattr(client._session.clock, "monotonic", lambda: later)
        proxy.fate = lambda line: "drop" if "/auth/" in line else "pass"
        proxy.seen = []
        for _ in range(3):
            assert client.whoami().subject
        assert sum("/auth/" in line for line in proxy.seen) == 1
        proxy.fate = lambda _: "pass"
        later += 5
        assert client.whoami().subject
        assert sum("/auth/" in line for line in proxy.seen) == 2


def test_a_token_file_is_read_again_when_its_token_is_refused(
    brief: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-yesterday")
    monkeypatch.setenv("WEIR_TOKEN_FILE", str(file))
    with weir.Client(brief.url) as client:
        with pytest.raises(weir.Unauthorized):
            client.whoami()
        file.write_text("an-admin-key-for-tests-only\n")
        assert client.whoami().scope == "admin"
        file.unlink()
        assert client.whoami().scope == "admin"


def test_credentials_do_not_show_in_what_is_printed(brief: Server, app: tuple[str, str, str]) -> None:
    _, client_id, secret = app
    with weir.Client(brief.url, client_id=client_id, client_secret=secret) as client:
        client.whoami()
        credentials = client._session.credentials
        assert isinstance(credentials, ClientCredentials)
        assert credentials._token is not None
        for text in (repr(credentials._token), repr(client._settings), repr(client._settings)):
            assert credentials._token.access not in text
            assert secret not in text


@pytest.mark.parametrize("wrong", ["", "  ", "a b", "a\nb", "schlüssel"])
def test_credentials_that_no_header_can_have_are_refused_at_once(brief: Server, wrong: str) -> None:
    for name in ("token", "api_key"):
        with pytest.raises(ValueError, match=name):
            weir.Client(brief.url, **{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="client_secret"):
        weir.Client(brief.url, client_id="a", client_secret="")


def test_a_wrong_secret_and_missing_credentials_are_refused(
    brief: Server, app: tuple[str, str, str], queue_dir: Path
) -> None:
    org, client_id, secret = app
    with weir.Client(brief.url, client_id=client_id, client_secret=secret + "x") as client:
        with pytest.raises(weir.Unauthorized) as refused:
            client.budget(org, "shop", queue_dir=queue_dir).select()
        assert secret not in str(refused.value)
    with weir.Client(brief.url) as client, pytest.raises(weir.Unauthorized):
        client.whoami()
    with weir.Client(brief.url, client_id=client_id, client_secret=secret) as client, pytest.raises(weir.Forbidden):
        client.budget("another", "shop", queue_dir=queue_dir).select()


def test_settings_come_from_the_environment(brief: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.write_text("an-admin-key-for-tests-only\n")
    monkeypatch.setenv("WEIR_URL", brief.url)
    for name, value in [
        ("WEIR_ADMIN_KEY", key.read_text()),
        ("WEIR_TOKEN", key.read_text()),
        ("WEIR_TOKEN_FILE", str(key)),
    ]:
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with weir.Client() as client:
                assert client.whoami().scope == "admin"
    monkeypatch.setenv("WEIR_TOKEN", "a")
    monkeypatch.setenv("WEIR_TOKEN_FILE", str(key))
    with pytest.raises(ValueError, match="both set"):
        weir.Client()
    with pytest.raises(ValueError, match="one of token"):
        weir.Client(token="a", api_key="b")
    with pytest.raises(ValueError, match="go together"):
        weir.Client(client_id="a")
    with pytest.raises(ValueError, match="http"):
        weir.Client("ftp://x", token="a")

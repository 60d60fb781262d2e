"""Credentials of requests: an admin key, a token, or tokens for a client id and its secret."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .core import Exclusive, Program, Request, Response, is_header_text
from .decode import decode
from .errors import Conflict, Forbidden, InvalidRequest, RateLimited, ServerError, Unauthorized, Unreachable
from .retry import NO_RETRY

if TYPE_CHECKING:
    from .session import Session

RENEW_BEFORE_SECS = 60.0
"""A token is renewed so long before it expires, or in the last fifth of a shorter life."""
RENEW_AGAIN_SECS = 2.0
"""Pause after a renewal that failed while the token is still valid."""


class Credentials:
    """Credentials that never change: none at all, an admin key or a token."""

    def __init__(self, headers: dict[str, str] | None = None) -> None:
        self._headers = headers or {}

    def headers(self, session: Session) -> Program[dict[str, str]]:
        """Return the headers of a request."""
        yield from ()
        return self._headers

    def renew(self, refused: dict[str, str]) -> bool:
        """Forget the credentials that the server refused; whether there may be others."""
        return False

    @classmethod
    def of(cls, secret: str) -> Credentials:
        """Return the credentials that a text stands for: a token has three parts, an admin key has not."""
        secret = secret.strip()
        is_token = secret.startswith("eyJ") and secret.count(".") == 2
        return cls.of_token(secret) if is_token else cls.of_key(secret)

    @classmethod
    def of_token(cls, token: str) -> Credentials:
        """Return the credentials of a token."""
        return Credentials({"authorization": f"Bearer {header_text('token', token)}"})

    @classmethod
    def of_key(cls, key: str) -> Credentials:
        """Return the credentials of an admin key."""
        return Credentials({"x-api-key": header_text("api_key", key)})


def header_text(name: str, secret: str) -> str:
    """Return a secret that fits a header; the error does not show it."""
    secret = secret.strip()
    if not is_header_text(secret):
        raise ValueError(f"{name}: it is empty, or has characters that no header can have")
    return secret


class FileCredentials(Credentials):
    """The token or admin key of a file, which something else may renew: it is read again when the server refuses it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._headers = self._read()

    def renew(self, refused: dict[str, str]) -> bool:
        """Read the file again; whether it has other credentials by now."""
        try:
            self._headers = self._read()
        except (OSError, ValueError):
            return False  # it is being replaced, or gone
        return self._headers != refused

    def _read(self) -> dict[str, str]:
        secret = self._file.read_text(encoding="utf-8").strip()
        if not secret:
            raise ValueError(f"{self._file} is empty; it should have a token")
        return Credentials.of(secret)._headers


@dataclass(frozen=True)
class Token:
    """An access token, with the moments from which it is renewed and not used any more."""

    access: str = field(repr=False)
    renew_at: float
    expires_at: float
    refresh: str = field(repr=False)
    refresh_expires_at: float


class ClientCredentials(Credentials):
    """Gets an access token for a client id and its secret, and renews it before it expires."""

    def __init__(self, client_id: str, client_secret: str) -> None:
        super().__init__()
        self._id, self._secret = client_id, client_secret
        self._token: Token | None = None

    def headers(self, session: Session) -> Program[dict[str, str]]:
        """Return the headers of a request, after getting or renewing the token if it is time."""
        token = self._token
        if token is None or session.clock.monotonic() >= token.renew_at:
            token = yield Exclusive(session.renewing, self._renewed(session, token))
        return {"authorization": f"Bearer {token.access}"}

    def renew(self, refused: dict[str, str]) -> bool:
        """Forget the token if it is the refused one."""
        token = self._token
        if token is not None and refused.get("authorization") == f"Bearer {token.access}":
            self._token = None
        return True

    def _renewed(self, session: Session, seen: Token | None) -> Program[Token]:
        token = self._token
        if token is not None and token is not seen:
            return token  # another thread or task was first
        try:
            token = yield from self._new(session, token)
        except (Unreachable, ServerError, RateLimited):
            now = session.clock.monotonic()
            if token is None or now >= token.expires_at:
                raise
            token = replace(token, renew_at=now + RENEW_AGAIN_SECS)
        self._token = token
        return token

    def _new(self, session: Session, old: Token | None) -> Program[Token]:
        if old is not None and session.clock.monotonic() < old.refresh_expires_at:
            fields = {"grant_type": "refresh_token", "refresh_token": old.refresh}
            try:
                return (yield from self._request(session, "/auth/refresh", fields, old))
            except (Unauthorized, Forbidden, InvalidRequest, Conflict):
                pass  # revoked, or the secret was rotated: the secret decides
        fields = {"grant_type": "client_credentials", "client_id": self._id, "client_secret": self._secret}
        return (yield from self._request(session, "/auth/token", fields, old))

    def _request(self, session: Session, path: str, fields: dict[str, str], old: Token | None) -> Program[Token]:
        # A token that got lost on its way does no harm, so the request may be repeated.
        request = Request("POST", path, json=fields, idempotent=True, anonymous=True)
        # While the old token is valid, nobody needs to wait for the new one.
        is_valid = old is not None and session.clock.monotonic() < old.expires_at
        retry = NO_RETRY if is_valid else None
        return (yield from session.exchange(request, lambda response: token_of(session, response, old), retry=retry))


@dataclass(frozen=True)
class TokenAnswer:
    """The server's response to a secret or a refresh token."""

    access_token: str = field(repr=False)
    expires_in: float
    refresh_token: str | None = field(default=None, repr=False)
    refresh_expires_in: float = 0.0


def token_of(session: Session, response: Response, old: Token | None) -> Token:
    """Read a token; the moments of its life are by the local clock that never jumps."""
    now, answer = session.clock.monotonic(), decode(TokenAnswer, response.json())
    refresh, refresh_expires_at = answer.refresh_token, now + answer.refresh_expires_in
    if refresh is None and old is not None:
        refresh, refresh_expires_at = old.refresh, old.refresh_expires_at
    return Token(
        access=answer.access_token,
        renew_at=now + answer.expires_in - min(RENEW_BEFORE_SECS, answer.expires_in / 5),
        expires_at=now + answer.expires_in,
        refresh=refresh or "",
        refresh_expires_at=refresh_expires_at,
    )

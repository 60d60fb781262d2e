"""What a request shows to be let in: an admin key, a token, or tokens that a client id and its secret get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .core import Exclusive, Program, Request
from .errors import Conflict, Forbidden, InvalidRequest, RateLimited, ServerError, Unauthorized, Unreachable

if TYPE_CHECKING:
    from .session import Session

RENEW_BEFORE_SECS = 60.0
"""A token is renewed so long before it expires, or in the last fifth of a shorter life."""


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
        if secret.startswith("eyJ") and secret.count(".") == 2:
            return cls({"authorization": f"Bearer {secret}"})
        return cls({"x-api-key": secret})


@dataclass(frozen=True)
class Token:
    """An access token, with the moments from which it is renewed and not used any more."""

    access: str
    renew_at: float
    expires_at: float
    refresh: str
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
            token = yield Exclusive(self._renewed(session, token))
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
            self._token = yield from self._new(session, token)
        except (Unreachable, ServerError, RateLimited):
            if token is None or session.clock.monotonic() >= token.expires_at:
                raise
            return token
        return self._token

    def _new(self, session: Session, old: Token | None) -> Program[Token]:
        if old is not None and session.clock.monotonic() < old.refresh_expires_at:
            fields = {"grant_type": "refresh_token", "refresh_token": old.refresh}
            try:
                answer = yield from self._request(session, "/auth/refresh", fields)
            except (Unauthorized, Forbidden, InvalidRequest, Conflict):
                pass  # revoked, or the secret was rotated: the secret decides
            else:
                return self._token_of(session, answer, old)
        fields = {"grant_type": "client_credentials", "client_id": self._id, "client_secret": self._secret}
        answer = yield from self._request(session, "/auth/token", fields)
        return self._token_of(session, answer, old)

    def _request(self, session: Session, path: str, fields: dict[str, str]) -> Program[Any]:
        # A token that got lost on its way does no harm, so the request may be repeated.
        request = Request("POST", path, json=fields, idempotent=True, anonymous=True)
        response = yield from session.exchange(request)
        return response.json()

    def _token_of(self, session: Session, answer: dict[str, Any], old: Token | None) -> Token:
        now, lifetime = session.clock.monotonic(), float(answer["expires_in"])
        refresh = answer.get("refresh_token")
        if refresh is None and old is not None:
            refresh, refresh_expires_at = old.refresh, old.refresh_expires_at
        else:
            refresh_expires_at = now + float(answer.get("refresh_expires_in", 0))
        return Token(
            access=answer["access_token"],
            renew_at=now + lifetime - min(RENEW_BEFORE_SECS, lifetime / 5),
            expires_at=now + lifetime,
            refresh=refresh or "",
            refresh_expires_at=refresh_expires_at,
        )

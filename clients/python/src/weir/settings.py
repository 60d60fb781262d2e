"""Where the server is and how to be let in: from arguments, else from the variables that the `weir` command reads."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from .credentials import ClientCredentials, Credentials, FileCredentials

DEFAULT_URL = "http://127.0.0.1:8080"
CONNECTIONS_MAX = 100


@dataclass(frozen=True)
class Settings:
    """The server's address, the credentials, and the options of a connection."""

    url: str
    credentials: Credentials
    timeout: float
    ca_file: str | None

    def http(self) -> httpx.Client:
        """Return a new blocking HTTP client."""
        return httpx.Client(
            base_url=self.url,
            timeout=self.timeout,
            verify=self._verify(),
            limits=self._limits(),
            trust_env=True,
        )

    def async_http(self) -> httpx.AsyncClient:
        """Return a new asynchronous HTTP client."""
        return httpx.AsyncClient(
            base_url=self.url,
            timeout=self.timeout,
            verify=self._verify(),
            limits=self._limits(),
            trust_env=True,
        )

    def _verify(self) -> ssl.SSLContext | bool:
        if self.ca_file is None:
            return True
        context = ssl.create_default_context()
        context.load_verify_locations(self.ca_file)
        return context

    def _limits(self) -> httpx.Limits:
        return httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)


def settings(
    url: str | None,
    *,
    token: str | None,
    api_key: str | None,
    client_id: str | None,
    client_secret: str | None,
    ca_file: str | None,
    timeout: float,
    variables: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings of a client; arguments win over variables."""
    environment = os.environ if variables is None else variables
    url = url or environment.get("WEIR_URL") or DEFAULT_URL
    if httpx.URL(url).scheme not in ("http", "https"):
        raise ValueError(f"url: {url!r} does not begin with http:// or https://")
    credentials = given(token, api_key, client_id, client_secret) or from_environment(environment)
    return Settings(url.rstrip("/"), credentials, timeout, ca_file or environment.get("WEIR_CA_FILE") or None)


def given(
    token: str | None, api_key: str | None, client_id: str | None, client_secret: str | None
) -> Credentials | None:
    """Return the credentials of the arguments, of which there may be one kind."""
    if (client_id is None) != (client_secret is None):
        raise ValueError("client_id and client_secret go together")
    if sum(value is not None for value in (token, api_key, client_id)) > 1:
        raise ValueError("give one of token, api_key, and client_id with client_secret")
    if client_id is not None and client_secret is not None:
        if not client_id or not client_secret:
            raise ValueError("client_id and client_secret: one of them is empty")
        return ClientCredentials(client_id, client_secret)
    if token is not None:
        return Credentials.of_token(token)
    if api_key is not None:
        return Credentials.of_key(api_key)
    return None


def from_environment(variables: Mapping[str, str]) -> Credentials:
    """Return the credentials of `WEIR_TOKEN`, `WEIR_TOKEN_FILE` or `WEIR_ADMIN_KEY`, or none."""
    token, file = variables.get("WEIR_TOKEN"), variables.get("WEIR_TOKEN_FILE")
    if token and file:
        raise ValueError("WEIR_TOKEN and WEIR_TOKEN_FILE are both set; unset one of them")
    if file:
        return FileCredentials(Path(file))
    secret = token or variables.get("WEIR_ADMIN_KEY")
    return Credentials.of(secret) if secret else Credentials()

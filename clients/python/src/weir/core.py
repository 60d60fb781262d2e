"""The client without any input or output.

The logic of the client is written once, as generators. A program yields effects (send a request, sleep, use the
disk, run a part under a lock) and is sent the results. `weir.drivers` runs a program, blocking or with `await`.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, SupportsIndex, TypeAlias, TypeVar
from urllib.parse import quote

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A request to the server."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    idempotent: bool = False
    """Whether sending the request twice has the effect of sending it once."""
    anonymous: bool = False
    """Whether the request goes out without credentials."""

    def with_headers(self, headers: Mapping[str, str]) -> Request:
        """Return the request with more headers."""
        return replace(self, headers={**self.headers, **headers})


@dataclass(frozen=True)
class Response:
    """A response of the server."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON. Raises `ForeignResponse` for the page of a proxy, or a body that was cut off."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise ForeignResponse(f"status {self.status} with {len(self.body)} bytes that are no JSON") from error


@dataclass(frozen=True)
class Send:
    """Effect: send the request; the result is a `Response`, or a `NetworkFailure` is thrown."""

    request: Request


@dataclass(frozen=True)
class Sleep:
    """Effect: wait for this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Exclusive:
    """Effect: run the program while no other one holds the lock; the result is that of the program."""

    lock: Lock
    program: Generator[Any, Any, Any]


@dataclass(frozen=True)
class Blocks:
    """Effect: call a function that may block, as one that uses the disk; the result is that of the function."""

    function: Callable[[], Any]


class NetworkFailure(Exception):
    """The request got no response, or one that cannot be read."""

    def __init__(self, reason: str, *, was_sent: bool, is_garbled: bool = False) -> None:
        super().__init__(reason)
        self.was_sent = was_sent
        """Whether the server may have received the request."""
        self.is_garbled = is_garbled
        """Whether there was a response, which cannot be read."""


class ForeignResponse(Exception):
    """The response is not one of Weir: a proxy may have made it, or it was cut off."""


Program: TypeAlias = Generator[Any, Any, T]


def path(template: str, *parts: str) -> str:
    """Fill the `{}` of a path with parts, each percent-encoded as one segment.

    A part that is empty or a dot segment would name another path, so it is refused.
    """
    for part in parts:
        if not isinstance(part, str) or part in ("", ".", ".."):
            raise ValueError(f"{part!r} cannot be part of the path {template}")
    return template.format(*(quote(part, safe="") for part in parts))


def is_header_text(text: str) -> bool:
    """Whether a text can be the value of a header: visible ASCII, and some."""
    return re.fullmatch(r"[!-~]+", text) is not None


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not `None`."""
    return {name: value for name, value in values.items() if value is not None}


def whole_number(name: str, amount: object) -> int:
    """Return an amount as `int`, also one of NumPy. A float would be rounded, and a truth value is a mistake."""
    if isinstance(amount, bool) or not isinstance(amount, SupportsIndex):
        raise TypeError(f"{name}: {amount!r} is no whole number")
    return operator.index(amount)

"""Keeps a selection as long as the server allows, and its tag to check it afterwards."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from itertools import count

from .clock import Clock
from .core import Response
from .decode import decode
from .types import ModelSelection

MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d+)")


@dataclass(frozen=True)
class Kept:
    """A selection, its tag, the number of its request, and the time until which it may be used without asking."""

    selection: ModelSelection
    tag: str | None
    request: int
    until: float


class SelectionCache:
    """Holds the response to the latest request. Threads may share it: the kept selection is replaced as a whole."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: Kept | None = None
        self._requests = count(1)
        self._guard = threading.Lock()

    def fresh(self) -> ModelSelection | None:
        """Return the selection that may be used without asking."""
        kept = self._kept
        return kept.selection if kept is not None and self._clock.monotonic() < kept.until else None

    def check(self, *, anew: bool) -> Check:
        """Begin a request: `anew`, or one that checks by its tag whether the kept selection still holds."""
        return Check(self, next(self._requests), None if anew else self._kept)

    def read(self, response: Response, check: Check) -> ModelSelection:
        """Return the selection of a response, and keep it, unless the response to a later request came first."""
        known = check.known
        if response.status == 304 and known is not None:
            selection, tag = known.selection, known.tag
        else:
            selection, tag = decode(ModelSelection, response.json()), response.headers.get("etag")
        until = self._clock.monotonic() + self._max_age(response, selection)
        with self._guard:
            if self._kept is None or self._kept.request < check.request:
                self._kept = Kept(selection, tag, check.request, until)
        return selection

    def _max_age(self, response: Response, selection: ModelSelection) -> int:
        """Return the seconds that the selection may be used: `max-age`, or else those of the guidance."""
        control = response.headers.get("cache-control", "")
        if "no-store" in control:
            return 0
        found = MAX_AGE.search(control)
        return int(found[1]) if found else selection.client_guidance.cache_duration_secs


@dataclass(frozen=True)
class Check:
    """A request for the selection: its number, and the selection that it knows of."""

    cache: SelectionCache
    request: int
    known: Kept | None

    @property
    def tag(self) -> str | None:
        """The tag of the known selection."""
        return self.known.tag if self.known is not None else None

    def read(self, response: Response) -> ModelSelection:
        """Return the selection of the response, and keep it."""
        return self.cache.read(response, self)

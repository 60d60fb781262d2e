"""Keeps a selection as long as the server allows, and its tag to check it afterwards."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .clock import Clock
from .core import Response
from .decode import decode
from .types import ModelSelection

MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d+)")


@dataclass(frozen=True)
class Kept:
    """A selection, its tag, and until when it may be used without asking."""

    selection: ModelSelection
    tag: str | None
    until: float


class SelectionCache:
    """Holds the last selection. Threads may share it: what is kept is replaced as a whole."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: Kept | None = None

    def fresh(self) -> ModelSelection | None:
        """Return the selection that may be used without asking."""
        kept = self._kept
        return kept.selection if kept is not None and self._clock.monotonic() < kept.until else None

    def tag(self) -> str | None:
        """Return the tag of the last selection."""
        kept = self._kept
        return kept.tag if kept is not None else None

    def keep(self, response: Response) -> ModelSelection:
        """Return the selection of a response, and keep it. A 304 prolongs the last one."""
        kept = self._kept
        if response.status == 304 and kept is not None:
            self._kept = replace(kept, until=self._clock.monotonic() + self._max_age(response, kept.selection))
            return kept.selection
        selection = decode(ModelSelection, response.json())
        until = self._clock.monotonic() + self._max_age(response, selection)
        self._kept = Kept(selection, response.headers.get("etag"), until)
        return selection

    def _max_age(self, response: Response, selection: ModelSelection) -> int:
        """Return the seconds that the selection may be used: `max-age`, else what the guidance says."""
        control = response.headers.get("cache-control", "")
        if "no-store" in control:
            return 0
        found = MAX_AGE.search(control)
        return int(found[1]) if found else selection.client_guidance.cache_duration_secs

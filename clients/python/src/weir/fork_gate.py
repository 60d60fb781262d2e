"""Keeps the databases of this process out of forked children.

SQLite forbids to take a connection into a child, and its own locks stay locked there if another thread holds one during the fork.
So a fork waits until no thread uses a database, and closes all of them. The next use opens them again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAIT_SECS = 60.0
"""How long a fork waits for threads that use a database, one of which may wait for another process."""


class ForkGate:
    """Lets any number of threads use databases, or one fork."""

    def __init__(self, close_all: Callable[[], None]) -> None:
        self._close_all = close_all
        self._orphans: list[sqlite3.Connection] = []
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._users, self._is_forking = 0, False

    @contextmanager
    def use(self) -> Iterator[None]:
        """Hold up forks in this block, in which the thread may use databases."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_forking)
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def close(self, database: sqlite3.Connection) -> None:
        """Close a database that nobody refers to any more. The garbage collector calls this, so it waits for no lock."""
        self._orphans.append(database)
        if self._changed.acquire(blocking=False):
            try:
                if not self._is_forking:
                    self._close_orphans()
            finally:
                self._changed.release()

    def before_fork(self) -> None:
        """Wait until no thread uses a database, and close all of them."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_forking)
            self._is_forking = True
            self._changed.wait_for(lambda: not self._users, WAIT_SECS)
            self._close_orphans()
            self._close_all()

    def after_in_parent(self) -> None:
        """Let threads use databases again."""
        with self._changed:
            self._is_forking = False
            self._close_orphans()
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """Begin anew: the other threads stayed in the parent."""
        _left_to_parents.extend(self._orphans)
        self._orphans = []
        self._begin()

    def _close_orphans(self) -> None:
        while self._orphans:
            self._orphans.pop().close()


_left_to_parents: list[sqlite3.Connection] = []
"""Connections that were collected during a fork. To close one in the child could end locks of the parent."""


def gate_of(close_all: Callable[[], None]) -> ForkGate:
    """Return the gate of this process, which every fork passes."""
    gate = ForkGate(close_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=gate.before_fork, after_in_parent=gate.after_in_parent, after_in_child=gate.after_in_child
        )
    return gate

"""The lock of the one process that sends the reports of a queue.

The operating system frees it when the process dies, however it dies. It is not inherited by a fork.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from .errors import QueueError

_held: set[tuple[int, str]] = set()
"""Locks that threads of this process hold; the operating system's lock does not tell threads apart."""
_guard = threading.Lock()


def _after_fork() -> None:
    global _guard  # noqa: PLW0603 - a thread that stayed in the parent may have held it
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class SenderLock:
    """A lock of a file; `with` says whether it was free."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def __enter__(self) -> bool:
        with _guard:
            if self._name in _held:
                return False
            try:
                descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise QueueError(f"{self._file}: {error}") from error
            if not lock(descriptor):
                os.close(descriptor)
                return False
            self._descriptor = descriptor
            _held.add(self._name)
            return True

    def __exit__(self, *_: object) -> None:
        with _guard:
            if self._descriptor is not None:
                _held.discard(self._name)
                os.close(self._descriptor)  # which also unlocks it
                self._descriptor = None

    @property
    def _name(self) -> tuple[int, str]:
        return os.getpid(), str(self._file.resolve())


if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> bool:
        """Lock a file if it is free; whether it was."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Lock a file if it is free; whether it was."""
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

"""The queue of reports on disk: what `report()` has taken outlives the process, and leaves only when the server has it.

One folder per server, org and app has

- `queue.db`, an SQLite database whose commits are synced to disk, which any number of processes may share;
- `sender.lock`, which the one sending process has locked; the operating system frees it when that process dies;
- `dead-letter.jsonl`, the reports that the server refused for good, one JSON object a line, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from .errors import QueueError, QueueFull
from .sender_lock import SenderLock

OnFull = Literal["raise", "wait"]

CHOOSE = "choose another folder with queue_dir or WEIR_QUEUE_DIR"
BUSY_SECS = 60.0
"""How long a process waits for another one that writes."""
POLL_SECS = 0.05
"""How often a full queue is looked at for room."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    skew_ms INTEGER
);
CREATE TABLE IF NOT EXISTS size (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL);
INSERT OR IGNORE INTO size VALUES (1, 0);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON reports BEGIN UPDATE size SET count = count + 1; END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON reports BEGIN UPDATE size SET count = count - 1; END;
"""


@dataclass(frozen=True)
class Report:
    """A report in the queue, with the local time of the call and how far the clock was off, if that was known."""

    id: int
    body: dict[str, Any]
    at_ms: int
    skew_ms: int | None


def queue_folder(root: Path, url: str, org: str, app: str) -> Path:
    """Return the folder of a queue: readable, and never the same for two apps or servers."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{org}--{app}")[:100]
    digest = sha256("\n".join((url, org, app)).encode()).hexdigest()[:12]
    return root / f"{readable}--{digest}"


def default_root() -> Path:
    """Return where queues are kept: `WEIR_QUEUE_DIR`, or the folder for the state of the user's programs."""
    if folder := os.environ.get("WEIR_QUEUE_DIR"):
        return Path(folder)
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(state) if state else Path.home() / ".local" / "state") / "weir" / "queue"
    except RuntimeError as error:  # a container may have no home
        raise QueueError(f"no folder for the queue of reports: {error}; {CHOOSE}") from error


class Queue:
    """A bounded queue of reports, which threads and processes may share."""

    def __init__(self, folder: Path, *, size_max: int, on_full: OnFull, full_wait_secs: float) -> None:
        if size_max < 1:
            raise ValueError(f"queue_max: {size_max} is less than 1")
        if on_full not in ("raise", "wait"):
            raise ValueError(f"on_full: {on_full!r} is neither 'raise' nor 'wait'")
        self.folder, self._size_max, self._on_full, self._full_wait = (
            folder,
            size_max,
            on_full,
            full_wait_secs,
        )
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise unusable(folder, error) from error
        self._guard = threading.RLock()
        self._database: sqlite3.Connection | None = None
        with self._open():
            _queues.add(self)

    def put(self, body: dict[str, Any], at_ms: int, skew_ms: int | None) -> int:
        """Store a report, and return its number once it is on disk.

        Raises `QueueFull` when there is no room, at once or after the wait. A report whose `request_id` is queued already
        is the same report.
        """
        until = time.monotonic() + self._full_wait
        while True:
            number = self._try_put(body, at_ms, skew_ms)
            if number is not None:
                return number
            if self._on_full == "raise" or time.monotonic() >= until:
                raise QueueFull(f"{self.folder} holds {self._size_max} reports that the server has not taken")
            time.sleep(POLL_SECS)

    def _try_put(self, body: dict[str, Any], at_ms: int, skew_ms: int | None) -> int | None:
        row = [body["request_id"], json.dumps(body), at_ms, skew_ms]
        with self._transaction() as database:
            found = database.execute("SELECT id FROM reports WHERE request_id = ?", [body["request_id"]]).fetchone()
            if found:
                return int(found[0])
            if self._count(database) >= self._size_max:
                return None
            sql = "INSERT INTO reports (request_id, body, at_ms, skew_ms) VALUES (?, ?, ?, ?)"
            return database.execute(sql, row).lastrowid

    def head(self, count: int, without: Sequence[int]) -> list[Report]:
        """Return the oldest reports, without some that are to wait."""
        sql = "SELECT id, body, at_ms, skew_ms FROM reports ORDER BY id LIMIT ?"
        with self._open() as database:
            rows = database.execute(sql, [count + len(without)]).fetchall()
        skipped = frozenset(without)
        reports = [Report(row[0], json.loads(row[1]), row[2], row[3]) for row in rows if row[0] not in skipped]
        return reports[:count]

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove reports that the server has, or that are dead letters."""
        with self._transaction() as database:
            database.executemany("DELETE FROM reports WHERE id = ?", [[number] for number in numbers])

    def bury(self, report: Report, code: str, reason: str) -> None:
        """Write a report to the dead letters, and then remove it.

        A crash in between writes it twice, under the same `request_id`, rather than never.
        """
        letter = {
            "request_id": report.body["request_id"],
            "error": code,
            "reason": reason,
            "report": report.body,
        }
        try:
            append_line(self.dead_letters, json.dumps({"at_ms": report.at_ms, **letter}).encode())
        except OSError as error:
            raise QueueError(f"{self.dead_letters}: {error}") from error
        self.remove([report.id])

    @property
    def dead_letters(self) -> Path:
        """The file of reports that the server refused for good."""
        return self.folder / "dead-letter.jsonl"

    def __len__(self) -> int:
        with self._open() as database:
            return self._count(database)

    def newest(self) -> int:
        """Return the number of the last report ever stored."""
        sql = "SELECT seq FROM sqlite_sequence WHERE name = 'reports'"
        with self._open() as database:
            row = database.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def has_until(self, number: int) -> bool:
        """Whether a report up to this number is still there."""
        sql = "SELECT 1 FROM reports WHERE id <= ? LIMIT 1"
        with self._open() as database:
            return database.execute(sql, [number]).fetchone() is not None

    def sending(self) -> SenderLock:
        """Return the lock of the one that sends; entering it says whether this thread has it."""
        return SenderLock(self.folder / "sender.lock")

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        with self._guard:
            if self._database is not None:
                self._database.close()
                self._database = None

    def __del__(self) -> None:
        database = getattr(self, "_database", None)  # there is none when the folder could not be made
        if database is not None:
            database.close()

    def _count(self, database: sqlite3.Connection) -> int:
        return int(database.execute("SELECT count FROM size").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Use the one connection of this process, which threads share in turns.

        Whatever goes wrong closes it, which ends its transaction: an open one would hold up all processes.
        """
        with self._guard:
            try:
                if self._database is None:
                    self._database = connect(self.folder / "queue.db")
                yield self._database
            except BaseException as error:
                self.close()
                if isinstance(error, (sqlite3.Error, OSError)):
                    raise unusable(self.folder, error) from error
                raise


def unusable(folder: Path, error: Exception) -> QueueError:
    """Return the error of a queue whose folder or database does not work."""
    return QueueError(f"the queue of reports in {folder} cannot be used: {error}; {CHOOSE}")


def append_line(file: Path, line: bytes) -> None:
    """Append a line to a file, and return when it is on disk. It is written as a whole, or not at all."""
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if end:
            os.lseek(descriptor, end - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                line = b"\n" + line  # a crash has torn the last one
        rest = line + b"\n"
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise
    finally:
        os.close(descriptor)


def connect(file: Path) -> sqlite3.Connection:
    """Open the database of a queue, and create it if it is new."""
    database = sqlite3.connect(file, timeout=BUSY_SECS, isolation_level=None, check_same_thread=False)
    try:
        _patiently(lambda: database.execute("PRAGMA journal_mode = WAL"))
        # A commit returns when it is on disk.
        database.execute("PRAGMA synchronous = FULL")
        _patiently(lambda: database.executescript(SCHEMA))
    except BaseException:
        database.close()
        raise
    return database


def _patiently(work: Callable[[], object]) -> None:
    """Repeat what SQLite refuses without waiting while another process opens the same new file."""
    until = time.monotonic() + BUSY_SECS
    while True:
        try:
            work()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(POLL_SECS)
        else:
            return


_queues: weakref.WeakSet[Queue] = weakref.WeakSet()
"""The queues of this process, whose databases are closed while it forks: SQLite forbids to take one into a child."""
_forking: list[Queue] = []


def _before_fork() -> None:
    for queue in list(_queues):
        queue._guard.acquire()
        _forking.append(queue)
        queue.close()


def _after_fork() -> None:
    while _forking:
        _forking.pop()._guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

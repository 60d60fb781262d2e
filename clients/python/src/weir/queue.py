"""The queue of reports on disk: a stored report outlives the process, and leaves only when the server has it.

One folder per server, org and app has

- `queue.db`, an SQLite database whose commits are synced to disk, which any number of processes may share. It also has the dead
  letters: the reports that the server refused for good, with the reason;
- `sender.lock`, which the one sending process has locked; the operating system frees it when that process dies.

Nothing touches the disk before the first report: a program that only selects models may run where it can write nothing.
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
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from .clock import utc
from .errors import QueueError
from .fork_gate import gate_of
from .sender_lock import SenderLock

OnFull = Literal["raise", "wait"]

SIZE_MAX = 100_000
FULL_WAIT_SECS = 30.0
CHOOSE = "choose another folder with queue_dir or WEIR_QUEUE_DIR"
BUSY_SECS = 60.0
"""How long a process waits for another one that writes."""
POLL_SECS = 0.05
"""Pause between two attempts of SQLite to open a new file."""
DATABASE = "queue.db"

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
CREATE TABLE IF NOT EXISTS dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    skew_ms INTEGER,
    error TEXT NOT NULL,
    reason TEXT NOT NULL
);
"""
BURY = """
INSERT INTO dead_letters (request_id, body, at_ms, skew_ms, error, reason)
SELECT request_id, body, at_ms, skew_ms, ?, ? FROM reports WHERE id = ?
"""
# Of several with one request_id, all but the oldest stay: the queue takes an id once.
LETTERS_TO_REQUEUE = """
SELECT min(id) FROM dead_letters WHERE request_id NOT IN (SELECT request_id FROM reports)
GROUP BY request_id ORDER BY 1 LIMIT ?
"""
REQUEUE = """
INSERT INTO reports (request_id, body, at_ms, skew_ms)
SELECT request_id, body, at_ms, skew_ms FROM dead_letters WHERE id = ?
"""


@dataclass(frozen=True)
class Report:
    """A report in the queue, with the local time of the call and how far the clock was off, if that was known."""

    id: int
    body: dict[str, Any]
    at_ms: int
    skew_ms: int | None


@dataclass(frozen=True)
class DeadLetter:
    """A report that the server refused for good. It counts nowhere until it is queued again."""

    request_id: str
    error: str
    """Code of the refusal, like `INVALID_MODEL_LABEL`."""
    reason: str
    """Explanation for people."""
    at: datetime
    """Time of the call."""
    report: dict[str, Any]
    """The report as the API takes it."""


@dataclass(frozen=True)
class Bound:
    """How many reports a queue may hold, and whether a further one waits for room."""

    size_max: int = SIZE_MAX
    on_full: OnFull = "raise"
    wait_secs: float = FULL_WAIT_SECS

    def __post_init__(self) -> None:
        if self.size_max < 1:
            raise ValueError(f"queue_max: {self.size_max} is less than 1")
        if self.on_full not in ("raise", "wait"):
            raise ValueError(f"on_full: {self.on_full!r} is neither 'raise' nor 'wait'")
        if not self.wait_secs >= 0:
            raise ValueError(f"full_wait_secs: {self.wait_secs} seconds are less than none")


def queue_folder(root: Path, url: str, org: str, app: str) -> Path:
    """Return the folder of a queue: readable, and never the same for two apps or servers."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{org}--{app}")[:100]
    digest = sha256("\n".join((url, org, app)).encode()).hexdigest()[:12]
    return root / f"{readable}--{digest}"


def default_root() -> Path | None:
    """Return where queues are kept: `WEIR_QUEUE_DIR`, or the folder for the state of the user's programs, if there is one."""
    if folder := os.environ.get("WEIR_QUEUE_DIR"):
        return Path(folder)
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(state) if state else Path.home() / ".local" / "state") / "weir" / "queue"
    except RuntimeError:  # a container may have no home
        return None


class Queue:
    """A bounded queue of reports, which threads and processes may share. The first report makes its folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._guard = threading.RLock()
        self._database: sqlite3.Connection | None = None
        _queues.add(self)

    @property
    def folder(self) -> Path:
        """The folder of the queue. Raises `QueueError` if there is none, as for a user without a home."""
        if self._folder is None:
            raise QueueError(f"no folder for the queue of reports: this user has no home; {CHOOSE}")
        return self._folder

    def exists(self) -> bool:
        """Whether anything was ever stored, which makes the database."""
        if self._database is not None:
            return True
        try:
            return self._folder is not None and (self._folder / DATABASE).exists()
        except OSError:
            return False  # the folder is not for this user

    def put(self, body: dict[str, Any], at_ms: int, skew_ms: int | None, size_max: int = SIZE_MAX) -> int | None:
        """Store a report, and return its number once it is on disk, or `None` when there is no room.

        A report whose `request_id` is queued already is the same report.
        """
        row = [body["request_id"], json.dumps(body), at_ms, skew_ms]
        with self._transaction() as database:
            found = database.execute("SELECT id FROM reports WHERE request_id = ?", [body["request_id"]]).fetchone()
            if found:
                return int(found[0])
            if self._count(database) >= size_max:
                return None
            sql = "INSERT INTO reports (request_id, body, at_ms, skew_ms) VALUES (?, ?, ?, ?)"
            return database.execute(sql, row).lastrowid

    def head(self, count: int) -> list[Report]:
        """Return the oldest reports."""
        sql = "SELECT id, body, at_ms, skew_ms FROM reports ORDER BY id LIMIT ?"
        return [Report(row[0], json.loads(row[1]), row[2], row[3]) for row in self._rows(sql, [count])]

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove reports that the server has."""
        with self._transaction() as database:
            database.executemany("DELETE FROM reports WHERE id = ?", [[number] for number in numbers])

    def bury(self, report: Report, code: str, reason: str) -> None:
        """Move a report to the dead letters."""
        with self._transaction() as database:
            database.execute(BURY, [code, reason, report.id])
            database.execute("DELETE FROM reports WHERE id = ?", [report.id])

    def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Return the oldest reports that the server refused for good."""
        sql = (
            "SELECT request_id, error, reason, at_ms + coalesce(skew_ms, 0), body FROM dead_letters ORDER BY id LIMIT ?"
        )
        return [
            DeadLetter(request_id=row[0], error=row[1], reason=row[2], at=utc(row[3]), report=json.loads(row[4]))
            for row in self._rows(sql, [limit])
        ]

    @property
    def dead_letter_count(self) -> int:
        """The number of dead letters, which has no bound."""
        rows = self._rows("SELECT count(*) FROM dead_letters", [])
        return int(rows[0][0]) if rows else 0

    def requeue(self, size_max: int) -> int:
        """Move dead letters back to the end of the queue, the oldest first, and return how many found room."""
        if not self.exists():
            return 0
        with self._transaction() as database:
            room = max(0, size_max - self._count(database))
            letters = database.execute(LETTERS_TO_REQUEUE, [room]).fetchall()
            database.executemany(REQUEUE, letters)
            database.executemany("DELETE FROM dead_letters WHERE id = ?", letters)
        return len(letters)

    def delete_dead_letters(self) -> int:
        """Delete all dead letters, and return how many there were."""
        if not self.exists():
            return 0
        with self._transaction() as database:
            return database.execute("DELETE FROM dead_letters").rowcount

    def __len__(self) -> int:
        return int(rows[0][0]) if (rows := self._rows("SELECT count FROM size", [])) else 0

    def newest(self) -> int:
        """Return the number of the last report ever stored."""
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'reports'", [])
        return int(rows[0][0]) if rows else 0

    def has_until(self, number: int) -> bool:
        """Whether a report up to this number is still there."""
        return bool(self._rows("SELECT 1 FROM reports WHERE id <= ? LIMIT 1", [number]))

    def sending(self) -> SenderLock:
        """Return the lock of the one that sends; entering it says whether this thread has it."""
        return SenderLock(self.folder / "sender.lock")

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        with _gate.use(), self._guard:
            self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def __del__(self) -> None:
        if self._database is not None:
            _gate.close(self._database)

    def _rows(self, sql: str, parameters: Sequence[int]) -> list[Any]:
        """Read the database, if there is one."""
        if not self.exists():
            return []
        with self._open() as database:
            return database.execute(sql, parameters).fetchall()

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
        with _gate.use(), self._guard:
            try:
                if self._database is None:
                    self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                    self._database = connect(self.folder / DATABASE)
                yield self._database
            except BaseException as error:
                self._close()
                if isinstance(error, (sqlite3.Error, OSError)):
                    raise unusable(self.folder, error) from error
                raise


def unusable(folder: Path, error: Exception) -> QueueError:
    """Return the error of a queue whose folder or database does not work."""
    return QueueError(f"the queue of reports in {folder} cannot be used: {error}; {CHOOSE}")


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
    """Repeat work that SQLite refuses without waiting while another process opens the same new file."""
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


def _close_all() -> None:
    for queue in list(_queues):
        queue._close()


_gate = gate_of(_close_all)

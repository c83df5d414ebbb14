"""Finished trials in an SQLite file, by the content that they depend on.

Its name and its tables are called after the sweeps that were the first to keep trials in it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.plain_data import parse_json
from workbench.report.atomic import explain_write_error
from workbench.report.trials import Trial
from workbench.settings import Settings

FILE = "sweeps.sqlite"
SCHEMA = 1
_WAIT_S = 30.0  # another process may be writing
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (
    key TEXT PRIMARY KEY, sweep TEXT NOT NULL, row TEXT NOT NULL, made REAL NOT NULL);
CREATE TABLE IF NOT EXISTS reports (hash TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS trials_of_sweep ON trials (sweep);
CREATE TABLE IF NOT EXISTS sweeps (id TEXT PRIMARY KEY, about TEXT NOT NULL, made REAL NOT NULL);
"""
_DAMAGE = (
    *(sqlite3.Error, ValueError, LookupError, TypeError, AttributeError, OverflowError),
    RecursionError,
)
Read = Callable[[Trial], bytes | None]
_FINAL = ("done", "wrong", "failed")
"""What is the same when it is tried again; a crash, a time-out or full memory may not be."""


class Store:
    """Finished trials; several processes and threads may use one file at a time.

    With `read_only` nothing is written, not even beside the file. Raises `ArtifactError` when the
    file is no store or of a newer schema.
    """

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False):
        self.path = Path(check_file_path(path))
        self.read_only = read_only
        self._lock = threading.RLock()
        self._is_at_once = False
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise ArtifactError(f"{self.path} is not a file. Pass the path of a store.")
        if self.read_only:
            if not self.path.exists():
                raise ArtifactError(f"The store {self.path} does not exist.")
            where = f"{self.path.resolve().as_uri()}?mode=ro"
            if not Path(f"{self.path}-wal").exists():  # without a writer: no lock files either
                where += "&immutable=1"
        else:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise explain_write_error(self.path, error) from error
            where = f"{self.path.resolve().as_uri()}?mode=rwc"
        connection = None
        try:
            connection = sqlite3.connect(where, timeout=_WAIT_S, uri=True, check_same_thread=False)
            if not self.read_only:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.executescript(_TABLES)
            self._check(connection)
        except (sqlite3.Error, ValueError, TypeError) as error:
            if connection is not None:
                connection.close()
            raise ArtifactError(
                f"{self.path} is not a store of trials ({error}). Give another path."
            ) from error
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT value FROM about WHERE name = 'schema'").fetchone()
        if row is None and not self.read_only:
            with connection:
                connection.execute("INSERT OR IGNORE INTO about VALUES ('schema', ?)", (SCHEMA,))
        elif row is None or int(row[0]) > SCHEMA:
            stored = "none" if row is None else row[0]
            connection.close()
            raise ArtifactError(
                f"{self.path} has schema {stored}, but this workbench reads up to {SCHEMA}. "
                "Upgrade aot-workbench to open it."
            )

    def find(self, keys: Iterable[str]) -> dict[str, Trial]:
        """The finished trials among these keys, whichever run made them."""
        wanted = list(dict.fromkeys(keys))
        by_key: dict[str, Trial] = {}
        with self.reading():
            for start in range(0, len(wanted), 500):  # SQLite's limit of parameters
                part = wanted[start : start + 500]
                marks = ", ".join("?" * len(part))
                rows = self._connection.execute(
                    f"SELECT key, row FROM trials WHERE key IN ({marks})", part
                )
                by_key.update((key, _trial(row)) for key, row in rows)
        return by_key

    def trials(self, run: str | None = None) -> list[Trial]:
        """Every trial in the order in which they ended, or those of one run."""
        where, values = ("", ()) if run is None else (" WHERE sweep = ?", (run,))
        with self.reading():
            rows = self._connection.execute(
                f"SELECT row FROM trials{where} ORDER BY made, key", values
            ).fetchall()
            return [_trial(row) for (row,) in rows]

    def keep(self, run: str, trial: Trial, report: bytes | None = None) -> Trial:
        """Store a trial that ended, with the `.wbr` content of its record, and return it.

        What may end otherwise when it is tried again is returned and not stored.
        """
        self._must_write()
        if report is not None:
            digest = hashlib.sha256(report).hexdigest()
            trial = Trial.from_json({**trial.to_json(), "report": digest})
        if trial.status not in _FINAL:
            return trial
        row = json.dumps(trial.to_json())
        with self._writing() as connection:
            if report is not None:
                connection.execute(
                    "INSERT OR IGNORE INTO reports VALUES (?, ?)", (trial.report, report)
                )
            connection.execute(
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?)",
                (trial.key, run, row, time.time()),
            )
        return trial

    def note(self, run: str, about: Mapping[str, Any], *, again: bool = True) -> None:
        """Write what a run was about; `again`: in place of what was written of it before."""
        self._must_write()
        row = (run, json.dumps(about), time.time())
        verb = "REPLACE" if again else "IGNORE"
        with self._writing() as connection:
            connection.execute(f"INSERT OR {verb} INTO sweeps VALUES (?, ?, ?)", row)

    def notes(self) -> list[tuple[str, Any, float]]:
        """What was noted of each run, the last one last: its id, the data, when it was."""
        with self.reading():
            names = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
            if ("sweeps",) not in names:  # read-only, and written before runs were noted
                return []
            rows = self._connection.execute(
                "SELECT id, about, made FROM sweeps ORDER BY made, id"
            ).fetchall()
            return [(str(id), parse_json(about), _moment(made)) for id, about, made in rows]

    def report(self, trial: Trial) -> bytes | None:
        """The `.wbr` content of a trial's record, or None when none was kept."""
        with self.reading():
            row = self._connection.execute(
                "SELECT content FROM reports WHERE hash = ?", (trial.report,)
            ).fetchone()
            if row is not None and hashlib.sha256(row[0]).hexdigest() != trial.report:
                raise ValueError(f"the record of {trial.title} was changed")
        return None if row is None else row[0]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read in the block; raises `ArtifactError` for a store that is damaged."""
        try:
            with self._lock:
                yield
        except _DAMAGE as error:
            raise ArtifactError(
                f"The store {self.path} is damaged ({error}). Pass another store, or remove this "
                "one to run its trials again."
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, nullcontext() if self._is_at_once else self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise ArtifactError(
                f"Cannot write to the store {self.path}: {error}. Choose another store."
            ) from error

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written in the block, or nothing of it."""
        with self._writing():
            self._is_at_once = True
            try:
                yield
            finally:
                self._is_at_once = False

    def _must_write(self) -> None:
        if self.read_only:
            raise UsageError(f"The store {self.path} was opened read-only. Pass a writable store.")

    def close(self) -> None:
        """Let go of the file; calling it twice is harmless."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _trial(row: Any) -> Trial:
    return Trial.from_json(parse_json(row))


def _moment(made: Any) -> float:
    """Seconds since the epoch, such as the calendar knows."""
    time.localtime(made)
    return float(made)


def store_path() -> Path:
    """Where trials are kept that name no store."""
    return Settings.from_environment().cache_folder / FILE


def reader(path: str | PathLike[str]) -> Read:
    """What reads the record of a trial from a store, which is opened for that alone."""

    def read(trial: Trial) -> bytes | None:
        if trial.report is None:
            return None
        with Store(path, read_only=True) as store:
            return store.report(trial)

    return read

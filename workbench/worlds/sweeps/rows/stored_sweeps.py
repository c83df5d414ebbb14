"""Sweeps in the store of finished trials: what was noted of each, and its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.artifacts.trials.store import Store, reader, store_path
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.typed_data import read_row


@dataclass(frozen=True)
class NotedSweep:
    """What is written of a sweep; `keys` are its trials in the store, `others` those beside."""

    name: str
    expression: str
    axes: Mapping[str, tuple[str, ...]]
    sizes: tuple[str, ...]
    notes: tuple[str, ...]
    keys: tuple[str, ...]
    others: tuple[Trial, ...]
    seconds: float


@dataclass(frozen=True)
class StoredSweep:
    """One sweep of a store: how many settings were tried, of how many axes, when."""

    name: str
    over: str
    settings: int
    done: int
    machine: str
    when: str


def read_stored(path: str | PathLike[str] | None, which: str | int | None) -> dict[str, Any]:
    """The fields of one sweep of a store; see `Sweep.load`."""
    path = Path(path or store_path())
    with Store(path, read_only=True) as store:
        sweeps = _list_noted(store)
        id, about, made = _chosen(path, sweeps, which)
        trials = _trials(store, id, about)
    day = _write_moment(made)
    notes = [f"Opened from {path.name}, written on {day}. Nothing was run."]
    if which is None and len(sweeps) > 1:
        notes.append(
            f"This is the latest of {len(sweeps)} sweeps in the file; wb.Sweep.stored lists them."
        )
    return dict(
        name=about.name,
        axes=about.axes,
        sizes=about.sizes,
        trials=trials,
        seconds=about.seconds,
        notes=(*about.notes, *notes),
        expression=about.expression,
        read=reader(path),
    )


def _chosen(
    path: Path, sweeps: list[tuple[str, NotedSweep, float]], which: str | int | None
) -> tuple[str, NotedSweep, float]:
    if not sweeps:
        raise UsageError(f"{path.name} has no sweep yet. Run one with store={path.name!r}.")
    if which is None:
        return sweeps[-1]
    if isinstance(which, int):
        if 0 <= which < len(sweeps):
            return sweeps[which]
        raise UsageError(f"{path.name} has no sweep {which}: it has {len(sweeps)}, counted from 0.")
    named = [row for row in sweeps if row[1].name == which]
    if not named:
        names = ", ".join(dict.fromkeys(about.name for _, about, _ in sweeps))
        raise UsageError(f"{path.name} has no sweep of {which!r}. It has sweeps of {names}.")
    return named[-1]


def _trials(store: Store, id: str, about: NotedSweep) -> tuple[Trial, ...]:
    """The rows in the order of the settings; after a kill those that had ended until then."""
    rows = {trial.settings: trial for trial in store.trials(id)}
    listed = store.find(about.keys).values()
    rows |= {trial.settings: trial for trial in (*listed, *about.others)}
    places = {
        (name, value): place
        for name, values in about.axes.items()
        for place, value in enumerate(values)
    }

    def place(trial: Trial) -> list[int]:
        own = dict(trial.settings)
        return [places.get((name, own.get(name, "")), -1) for name in about.axes]

    return tuple(sorted(rows.values(), key=place))


def list_stored(path: str | PathLike[str] | None) -> Iterator[StoredSweep]:
    """The sweeps of a store; see `Sweep.stored`."""
    with Store(path or store_path(), read_only=True) as store:
        for id, about, made in _list_noted(store):
            trials = _trials(store, id, about)
            over = (f"{name} ({len(values)})" for name, values in about.axes.items())
            yield StoredSweep(
                name=about.name,
                over=", ".join(over),
                settings=len(trials),
                done=sum(trial.status == "done" for trial in trials),
                machine=next((trial.machine for trial in trials if trial.machine), ""),
                when=_write_moment(made),
            )


def _write_moment(made: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(made))


def _list_noted(store: Store) -> list[tuple[str, NotedSweep, float]]:
    """Every sweep that was noted, the last one last: its id, what it is about, when it was."""
    with store.reading():
        return [(id, read_row(NotedSweep, about), made) for id, about, made in store.notes()]

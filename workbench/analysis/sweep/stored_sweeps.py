"""What stores hold of sweeps, with their records: of this user, or of another one, read-only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.analysis.sweep.store import Store
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.settings import Settings

FILE = "sweeps.sqlite"
Read = Callable[[Trial], bytes | None]


@dataclass(frozen=True)
class StoredSweep:
    """One sweep of a store: how many settings were tried, of how many axes, when."""

    name: str
    over: str
    settings: int
    done: int
    machine: str
    when: str


def store_path() -> Path:
    """Where sweeps are kept that name no store."""
    return Settings.from_environment().cache_folder / FILE


def reader(path: str | PathLike[str]) -> Read:
    """What reads the record of a trial from a store, which is opened for that alone."""

    def read(trial: Trial) -> bytes | None:
        if trial.report is None:
            return None
        with Store(path, read_only=True) as store:
            return store.report(trial)

    return read


def read_stored(path: str | PathLike[str] | None, which: str | int | None) -> dict[str, Any]:
    """The fields of one sweep of a store; see `Sweep.load`."""
    path = Path(path or store_path())
    with Store(path, read_only=True) as store:
        found = store.sweeps()
        id, about, made = _chosen(path, found, which)
        trials = _trials(store, id, about)
    day = _write_moment(made)
    notes = [f"Opened from {path.name}, where it was written on {day}; nothing was run."]
    if which is None and len(found) > 1:
        notes.append(f"It is the last of {len(found)} sweeps there: wb.Sweep.stored lists them.")
    return dict(
        name=str(about["name"]),
        axes={name: tuple(values) for name, values in about["axes"].items()},
        sizes=tuple(about["sizes"]),
        trials=trials,
        seconds=float(about["seconds"]),
        notes=(*about["notes"], *notes),
        expression=str(about["expression"]),
        read=reader(path),
    )


def _chosen(
    path: Path, found: list[tuple[str, dict[str, Any], float]], which: str | int | None
) -> tuple[str, dict[str, Any], float]:
    if not found:
        raise UsageError(f"{path.name} holds no sweep yet. Run one with store={path.name!r}.")
    if which is None:
        return found[-1]
    if isinstance(which, int):
        if 0 <= which < len(found):
            return found[which]
        raise UsageError(
            f"There is no sweep {which} in {path.name}: it holds {len(found)}, from 0."
        )
    named = [row for row in found if row[1]["name"] == which]
    if not named:
        names = ", ".join(dict.fromkeys(str(about["name"]) for _, about, _ in found))
        raise UsageError(
            f"There is no sweep of {which!r} in {path.name}. It holds those of {names}."
        )
    return named[-1]


def _trials(store: Store, id: str, about: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The rows in the order of the settings; after a kill those that had ended until then."""
    rows = {trial.settings: trial for trial in store.trials(id)}
    listed = store.find(about["keys"]).values()
    rows |= {trial.settings: trial for trial in listed}
    others = [Trial.from_json(row) for row in about["others"]]
    rows |= {trial.settings: trial for trial in others}
    places = {
        (name, value): place
        for name, values in about["axes"].items()
        for place, value in enumerate(values)
    }

    def place(trial: Trial) -> list[int]:
        own = dict(trial.settings)
        return [places.get((name, own.get(name, "")), -1) for name in about["axes"]]

    return tuple(sorted(rows.values(), key=place))


def list_stored(path: str | PathLike[str] | None) -> Iterator[StoredSweep]:
    """The sweeps of a store; see `Sweep.stored`."""
    with Store(path or store_path(), read_only=True) as store:
        for id, about, made in store.sweeps():
            trials = _trials(store, id, about)
            over = (f"{name} ({len(values)})" for name, values in about["axes"].items())
            yield StoredSweep(
                name=about["name"],
                over=", ".join(over),
                settings=len(trials),
                done=sum(trial.status == "done" for trial in trials),
                machine=next((trial.machine for trial in trials if trial.machine), ""),
                when=_write_moment(made),
            )


def _write_moment(made: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(made))

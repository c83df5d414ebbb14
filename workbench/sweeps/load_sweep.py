"""A sweep out of a store, with its records: of this user, or of another one, read-only."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.sweep.sweep import Read, Sweep
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.report.trials import Trial
from workbench.settings import Settings
from workbench.sweeps.store import Store

if TYPE_CHECKING:
    import pandas

FILE = "sweeps.sqlite"
_COLUMNS = ("name", "over", "settings", "done", "machine", "when")


def store_path() -> Path:
    """Where sweeps are kept that name no store."""
    return Settings.from_environment().cache_folder / FILE


def note(store: Store, id: str, sweep: Sweep, *, again: bool = True) -> None:
    """Write what a sweep is about; a store that is read-only stays as it is."""
    if store.read_only:
        return
    kept = store.find(trial.key for trial in sweep.trials)
    about = {
        "name": sweep.name,
        "axes": {name: list(values) for name, values in sweep.axes.items()},
        "sizes": list(sweep.sizes),
        "expression": sweep.expression,
        "seconds": sweep.seconds,
        "notes": list(sweep.notes),
        "keys": [trial.key for trial in sweep.trials if trial.key in kept],
        "others": [trial.to_json() for trial in sweep.trials if trial.key not in kept],
    }
    store.note(id, about, again=again)


def reader(path: str | PathLike[str]) -> Read:
    """What reads the record of a trial from a store, which is opened for that alone."""

    def read(trial: Trial) -> bytes | None:
        if trial.report is None:
            return None
        with Store(path, read_only=True) as store:
            return store.report(trial)

    return read


def opened(path: str | PathLike[str] | None, which: str | int | None = None) -> Sweep:
    """One sweep of a store; see `Sweep.load`."""
    path = Path(path or store_path())
    with Store(path, read_only=True) as store:
        found = store.sweeps()
        id, about, made = _chosen(path, found, which)
        trials = _trials(store, id, about)
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(made))
    notes = [f"Opened from {path.name}, where it was written on {day}; nothing was run."]
    if which is None and len(found) > 1:
        notes.append(f"It is the last of {len(found)} sweeps there: wb.Sweep.stored lists them.")
    return Sweep(
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


def stored(path: str | PathLike[str] | None) -> pandas.DataFrame:
    """A row for each sweep of a store; see `Sweep.stored`."""
    import pandas

    with Store(path or store_path(), read_only=True) as store:
        rows = [_summary(store, *row) for row in store.sweeps()]
    return pandas.DataFrame(rows, columns=list(_COLUMNS))


def _summary(store: Store, id: str, about: Mapping[str, Any], made: float) -> dict[str, Any]:
    trials = _trials(store, id, about)
    return {
        "name": about["name"],
        "over": ", ".join(f"{name} ({len(values)})" for name, values in about["axes"].items()),
        "settings": len(trials),
        "done": sum(trial.status == "done" for trial in trials),
        "machine": next((trial.machine for trial in trials if trial.machine), ""),
        "when": time.strftime("%Y-%m-%d %H:%M", time.localtime(made)),
    }


def export(sweep: Sweep, path: str | PathLike[str]) -> None:
    """Add the rows and their records to a store, which is made when there is none: all or none."""
    content = [sweep.name, list(sweep.axes), [trial.key for trial in sweep.trials]]
    id = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    is_new = not Path(check_file_path(path)).exists()
    try:
        with Store(path) as store, store.at_once():
            for trial in sweep.trials:
                store.keep(id, trial, None if sweep.read is None else sweep.read(trial))
            note(store, id, sweep)
    except BaseException:
        for ending in ("", "-wal", "-shm") if is_new else ():
            Path(f"{check_file_path(path)}{ending}").unlink(missing_ok=True)
        raise

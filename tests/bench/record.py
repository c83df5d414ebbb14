"""The committed file of figures: each with its conditions, its machine and the versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import string
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure

PATH = Path(__file__).with_name("bench.json")
PACKAGES = ("aot-workbench", "torch", "triton", "transformers", "numpy")
BUSY = 0.5
"""The load of the last minute, in processes, above which a machine is not quiet."""


@dataclass(frozen=True)
class Recorded:
    """A figure as the file keeps it; `ours` and `other` are None where only the value is known.

    `place` names the machine and the versions that it was measured with, in `Record.places`.
    """

    name: str
    value: float
    unit: str
    reach: float | None
    conditions: str
    date: str
    place: str
    source: str = "measured"
    ours: float | None = None
    other: float | None = None
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.reach is None or self.value <= self.reach


@dataclass(frozen=True)
class Place:
    """The machine and the versions of figures."""

    machine: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Record:
    """The figures by name, and the places where they were measured, by a letter."""

    places: Mapping[str, Place]
    figures: Mapping[str, Recorded]

    @classmethod
    def load(cls, path: Path = PATH) -> Record:
        """Read the file; raises `ValueError` when a name stands in it twice."""
        data = json.loads(path.read_text())
        rows = [Recorded(**row) for row in data["figures"]]
        places = {letter: Place(**place) for letter, place in data["places"].items()}
        return cls(places, by_name(rows))

    def save(self, path: Path = PATH) -> None:
        data = {**asdict(self), "figures": [asdict(row) for row in self.figures.values()]}
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")

    def letter(self, place: Place) -> str:
        """The letter of a place, or the first that is free."""
        known = (letter for letter, other in self.places.items() if other == place)
        free = (letter for letter in string.ascii_lowercase if letter not in self.places)
        return next(known, None) or next(free)

    def with_figures(self, place: Place, rows: Iterable[Recorded]) -> Record:
        """The same with figures measured anew in the place of those of the same name.

        A place whose figures were all measured anew elsewhere goes.
        """
        figures = {**self.figures, **by_name(rows)}
        used = {row.place for row in figures.values()}
        places = {**self.places, self.letter(place): place}
        return Record({letter: places[letter] for letter in places if letter in used}, figures)


def by_name(rows: Iterable[Recorded]) -> dict[str, Recorded]:
    """The rows by their names; raises `ValueError` when two have the same."""
    found: dict[str, Recorded] = {}
    for row in rows:
        if row.name in found:
            raise ValueError(f"two figures are called {row.name!r}")
        found[row.name] = row
    return found


def recorded(figures: Iterable[Figure], conditions: str, date: str, place: str) -> list[Recorded]:
    """The figures of one bench; an indented one belongs to the one before it, and is so named."""
    rows: list[Recorded] = []
    parent = ""
    for figure in figures:
        is_part = figure.name.startswith("  ")
        name = f"{parent}: {figure.name.strip()}" if is_part else figure.name
        parent = parent if is_part else name
        rows.append(
            Recorded(
                name,
                figure.value,
                figure.unit,
                figure.reach,
                figure.conditions or conditions,
                date,
                place,
                ours=figure.ours,
                other=figure.other,
                note=figure.note,
            )
        )
    return rows


def here() -> Place:
    """This machine, with what is installed."""
    return Place(machine(), versions())


def machine() -> dict[str, Any]:
    """What the figures depend on, in words that name no single machine."""
    flags = Path("/proc/cpuinfo").read_text()
    vectors = next((n for n, f in (("AVX-512", "avx512f"), ("AVX2", "avx2")) if f in flags), "none")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "vectors": vectors,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "gpu": None,
    }


def versions() -> dict[str, str]:
    """The versions of Python and of what the figures measure."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def wait_for_quiet(
    seconds: float = 300,
    load: Callable[[], float] = lambda: os.getloadavg()[0],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the machine is quiet, such as after an installation.

    Raises `RuntimeError` when it stays busy: the share of other programs would be in every figure.
    """
    for _ in range(int(seconds / 10)):
        if load() <= BUSY:
            return
        sleep(10)
    raise RuntimeError(
        f"{load():.1f} processes ran in the last minute: figures to record need a quiet machine"
    )

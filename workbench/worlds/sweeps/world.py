"""What the world of sweeps adds: `wb.sweep`, `wb.Sweep`, a magic, and records in files."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.worlds.world import Frame, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.views.kit.shown import Shown
    from workbench.worlds.sweeps.magics import SweepMagics
    from workbench.worlds.sweeps.sweep import Sweep

_ENDINGS = (".csv", ".parquet", ".sqlite", ".sqlite3", ".db")


class SweepsWorld(World):
    """One function compiled and measured under many settings, and which of them to take."""

    name = "sweeps"
    title = "Sweeps"
    names = MappingProxyType(
        {
            "sweep": "workbench.worlds.sweeps.calls",
            "Sweep": "workbench.worlds.sweeps.sweep",
        }
    )

    def find_shown(self, kind: str) -> Shown | None:
        """Of a sweep, and of the setting to take."""
        if kind not in ("Recommendation", "Sweep"):
            return None
        from workbench.worlds.sweeps.views.sweep_page import SHOWN

        return SHOWN[kind]

    def read_record(self, path: str) -> Sweep | None:
        """The last sweep of a store, or the one that was written as a table."""
        if Path(path).suffix.lower() not in _ENDINGS:
            return None
        from workbench.worlds.sweeps.sweep import Sweep

        return Sweep.load(path)

    def list_magics(self) -> Sequence[type[SweepMagics]]:
        """`%aot_sweep`."""
        from workbench.worlds.sweeps.magics import SweepMagics

        return (SweepMagics,)

    def list_frames(self) -> Sequence[Frame]:
        """That of a sweep."""
        from workbench.report.trials import Trial
        from workbench.worlds.sweeps.views.sweep_tables import FIGURES

        about = "A row for each configuration of `wb.sweep`, after a column for each axis."
        return (Frame("sweep.frame()", about, Trial, ("status", "reason", *FIGURES)),)


WORLD = SweepsWorld()

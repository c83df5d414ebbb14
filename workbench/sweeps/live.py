"""A sweep while it runs: what is done, what is being tried, how to end it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from workbench.analysis.sweep.sweep import Sweep
from workbench.report.trials import Trial
from workbench.sweeps.load_sweep import note, reader
from workbench.sweeps.scheduler import Runner
from workbench.sweeps.space import Space, value_text

Texts = tuple[tuple[str, str], ...]


@dataclass
class Running:
    """What `progress.started` is given; any thread may read it.

    `planned` are the settings that are tried; None where a search decides that.
    """

    runner: Runner
    space: Space
    planned: Sequence[Texts] | None = None
    began: float = field(default_factory=time.monotonic)
    rows: dict[Texts, Trial] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def add(self, row: Trial, *, from_store: bool = False) -> None:
        """A row has ended, or was known."""
        self.rows[row.settings] = row
        if from_store:
            self.known.add(row.key)

    @property
    def tried(self) -> tuple[Texts, ...]:
        """The settings that are being tried now."""
        return tuple(trial.settings for trial in self.runner.tried)

    @property
    def from_store(self) -> set[str]:
        """The titles of the rows that came from the store."""
        return {row.title for row in dict(self.rows).values() if row.key in self.known}

    def cancel(self) -> None:
        """End what runs and start nothing else; what is done is kept."""
        self.runner.cancel()

    def note(self, *, again: bool = True) -> Sweep:
        """Write into the store what the sweep is about, and return it as far as it is."""
        found = self.so_far()
        note(self.runner.store, self.runner.sweep, found, again=again)
        return found

    def so_far(self) -> Sweep:
        """The rows that have ended, in the order of the settings."""
        runner, rows = self.runner, dict(self.rows)
        notes = []
        if runner.content.unknown:
            notes.append(
                f"Nothing was taken from the store: {'; '.join(runner.content.unknown)}, which "
                "cannot be compared with an earlier run."
            )
        name = runner.subject.name
        is_model = isinstance(runner.subject.function, torch.nn.Module)
        return Sweep(
            name=name,
            axes={n: tuple(value_text(v) for v in vs) for n, vs in self.space.axes.items()},
            sizes=self.space.sizes,
            trials=tuple(rows[s.texts] for s in self.space.grid() if s.texts in rows),
            seconds=time.monotonic() - self.began,
            from_store=sum(row.key in self.known for row in rows.values()),
            notes=tuple(notes),
            expression="model" if is_model else name,
            read=reader(runner.store.path),
        )

"""The file of figures measured on a GPU: written after every figure, read as a table."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("gpu.json")
RULES = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class GpuFigure:
    """One value measured on a device beside the value to reach; `reach` is None where none is.

    `value` is None where it was not checked: `note` then has the reason.
    """

    part: str
    name: str
    value: float | None
    unit: str
    source: str
    reach: float | None = None
    rule: str = "<="
    note: str = ""

    @property
    def verdict(self) -> str:
        """`reached`, `missed`, `not checked`, or nothing where there is no value to reach."""
        if self.value is None:
            return "not checked"
        if self.reach is None:
            return ""
        return "reached" if RULES[self.rule](self.value, self.reach) else "missed"

    def row(self) -> str:
        """One line on the terminal."""
        reach = "" if self.reach is None else f"{self.rule} {self.reach:g}"
        value = "" if self.value is None else f"{self.value:.4g} {self.unit}"
        cells = (self.part, self.name, value, reach, self.verdict)
        return " | ".join((*cells, self.note, self.source))


@dataclass
class GpuRecord:
    """What one run found; `outcomes` has a word per part, with the reason where it did not run.

    `tables` has the rows that figures were computed from, by the names of part and table.
    """

    found: Mapping[str, str]
    figures: list[GpuFigure] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> GpuRecord:
        """Read the file; raises `FileNotFoundError` when no run has written it."""
        data = json.loads(path.read_text())
        figures = [GpuFigure(**row) for row in data["figures"]]
        return cls(data["found"], figures, data["outcomes"], data.get("tables", {}))

    def save(self, path: Path) -> None:
        """Replace the file in one step: an interrupted run leaves a whole one."""
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")
        beside.replace(path)

    def order(self, parts: Sequence[str]) -> None:
        """Put the figures in the order of these parts, those of others first."""
        self.figures.sort(key=lambda each: parts.index(each.part) if each.part in parts else -1)

    def forget(self, parts: Sequence[str]) -> None:
        """Take out what earlier runs found in these parts."""
        self.figures = [figure for figure in self.figures if figure.part not in parts]
        self.outcomes = {n: o for n, o in self.outcomes.items() if n not in parts}
        self.tables = {n: t for n, t in self.tables.items() if n.partition(":")[0] not in parts}

    def table(self) -> str:
        """Every figure, then every part with how it ended."""
        head = ", ".join(f"{name} {value}" for name, value in self.found.items())
        parts = [f"{part}: {outcome}" for part, outcome in self.outcomes.items()]
        rows = [f"{name}: {len(rows)} rows in the file" for name, rows in self.tables.items()]
        verdicts = Counter(figure.verdict or "without a reach" for figure in self.figures)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        figures = (figure.row() for figure in self.figures)
        return "\n".join((head, *figures, *rows, *parts, f"figures: {counts or 'none'}"))

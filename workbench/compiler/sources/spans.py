"""Stretches of time with their own share, as rows of a timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.report import Phase


@dataclass
class Span:
    """A phase from its begin to its end in seconds; `children_s` is what lies inside of it."""

    name: str
    start: float
    end: float
    compile_id: str | None
    depth: int = 0
    children_s: float = 0.0

    @property
    def seconds(self) -> float:
        """From the begin to the end."""
        return self.end - self.start


def list_phase_rows(spans: Iterable[tuple[Span, str]], started: float) -> list[Phase]:
    """Spans with their threads as rows in the order of their start, relative to `started`."""
    ordered = sorted(spans, key=lambda pair: (pair[0].start, pair[0].depth))
    return [
        Phase(
            id=f"p{n}",
            name=span.name,
            start_s=round(span.start - started, 6),
            duration_s=round(span.seconds, 6),
            self_s=round(max(0.0, span.seconds - span.children_s), 6),
            depth=span.depth,
            thread=thread,
            compile_id=span.compile_id,
        )
        for n, (span, thread) in enumerate(ordered)
    ]

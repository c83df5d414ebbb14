"""The reports of a session, each made or read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.report.record import Report


class Reports(Mapping[int, Report]):
    """Reports by the row of their compile; `same` rows have that of another row."""

    def __init__(
        self,
        makers: Mapping[int, Callable[[], Report]],
        same: Mapping[int, int] | None = None,
    ):
        self._makers, self._same = makers, same or {}
        self._made: dict[int, Report] = {}

    def __getitem__(self, at: int) -> Report:
        first = self._same.get(at, at)
        make = self._makers[at]
        if first not in self._made:
            self._made[first] = make()
        return self._made[first]

    def __iter__(self) -> Iterator[int]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with all reports: what makes them is of this process."""
        return dict, (dict(self),)

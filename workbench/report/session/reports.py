"""The reports of a session, each made or read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.report.record import Report


class Reports(Mapping[int, Report]):
    """Reports by the row of their compile."""

    def __init__(self, makers: Mapping[int, Callable[[], Report]]):
        self._makers = makers
        self._made: dict[int, Report] = {}

    def __getitem__(self, at: int) -> Report:
        if at not in self._made:
            self._made[at] = self._makers[at]()
        return self._made[at]

    def __iter__(self) -> Iterator[int]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

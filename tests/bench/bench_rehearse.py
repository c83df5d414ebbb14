"""What it takes to try the cures of eleven functions' graph breaks."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.bench.figure import Figure, child, empty_caches

CONDITIONS = (
    "eleven functions of a few lines with 12 graph breaks, 8 numbers each; torch and the workbench "
    "imported before, one other function explained first; every cure captured again and compared"
)
MOST_S = 6.0


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        runs = [child(__name__, variables=variables) for _ in range(1 if quick else 3)]
    seconds = statistics.median(run["seconds"] for run in runs)
    note = f"{runs[0]['cures']} cures, {runs[0]['cured']} of {runs[0]['breaks']} breaks cured"
    yield Figure("wb.rehearse of eleven functions (s)", seconds, None, seconds, MOST_S, "s", note)


def functions() -> list[Callable[..., Any]]:
    """Those of the tests, which say what becomes of each."""
    from tests.handles.breaks import test_rehearse as cases

    def prints(x: Any) -> Any:
        y = x.sin()
        print(y.mean())
        return y.cos()

    def chooses(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1

    def sums_some(x: Any) -> Any:
        return x * x[x > 0.5].sum()

    def finds(x: Any) -> Any:
        return x.nonzero().float() * 2

    named = (
        "logs",
        "takes_a_number",
        "has_a_size_from_data",
        "asks_the_clock",
        "breaks_on_purpose",
        "reads_what_was_changed",
        "breaks_twice",
    )
    return [prints, chooses, sums_some, finds, *(getattr(cases, name) for name in named)]


def main() -> None:
    """Print the seconds, and what was found."""
    import torch

    import workbench as wb

    x = torch.linspace(0.1, 1.0, 8)
    wb.explain(lambda x: x + 1 if x.mean() > 0 else x, (x,))
    start = time.perf_counter()
    found = [wb.rehearse(function, (x,)) for function in functions()]
    seconds = time.perf_counter() - start
    cured = {(each.name, cure.break_id) for each in found for cure in each.together.cures}
    counts = {"cures": sum(len(each.cures) for each in found), "cured": len(cured)}
    breaks = sum(each.breaks for each in found)
    print(json.dumps({"seconds": seconds, "breaks": breaks, **counts}))


if __name__ == "__main__":
    main()

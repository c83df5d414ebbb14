"""How long it takes to rehearse the cures of eleven functions that break the graph."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, child, empty_caches

CONDITIONS = (
    "`wb.rehearse` of eleven functions in turn, in a process that has already explained each. "
    "Every fix is captured again, run twice and compared, on the CPU without Inductor"
)
MOST_S = 6.0


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        runs = [child(__name__, variables=variables) for _ in range(1 if quick else 3)]
    whole = statistics.median(run["rehearse_s"] for run in runs)
    plain = statistics.median(run["explain_s"] for run in runs)
    cures = f"{runs[0]['cures']} cures, beside wb.explain of the same"
    yield Figure("rehearse 11 functions (s)", whole, plain, whole, MOST_S, "s", cures)


def main() -> None:
    """Print the seconds of both, and how many cures there are."""
    import contextlib
    import io

    import torch

    import workbench as wb
    from tests.bench.breaking_functions import EVERY

    torch.manual_seed(0)
    x = torch.rand(8) + 0.1
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent):
        wb.explain(lambda y: y + 1, (x,))
        start = time.perf_counter()
        for function in EVERY:
            wb.explain(function, (x,))
        between = time.perf_counter()
        found = [wb.rehearse(function, (x,)) for function in EVERY]
        end = time.perf_counter()
    cures = sum(len(each.cures) for each in found)
    taken = {"explain_s": between - start, "rehearse_s": end - between, "cures": cures}
    print(json.dumps(taken))


if __name__ == "__main__":
    main()

"""Measures every figure: `python -m tests.bench [NAME ...] [--quick] [--record]`.

`--record`, which `make bench` gives, writes them into tests/bench/bench.json and into the page
of figures.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from tests.bench import (
    bench_call,
    bench_capture,
    bench_checkpoint,
    bench_checks,
    bench_cluster,
    bench_costs,
    bench_diff,
    bench_first_compile,
    bench_first_minute,
    bench_foreign,
    bench_import,
    bench_inspect,
    bench_large,
    bench_load,
    bench_matrix,
    bench_memory,
    bench_models,
    bench_notebook,
    bench_numerics,
    bench_opportunities,
    bench_own_kernels,
    bench_package,
    bench_previews,
    bench_profile_trace,
    bench_rehearse,
    bench_report,
    bench_saved_times,
    bench_session,
    bench_sweep,
    bench_trace,
    bench_trying,
    bench_tuning,
    bench_variants,
    bench_view,
    bench_virtual,
    bench_virtual_verify,
    bench_wide,
    figures_page,
)
from tests.bench import record as records
from tests.bench.figure import Figure

BENCHES: Mapping[str, ModuleType] = {
    "import": bench_import,
    "first-compile": bench_first_compile,
    "first-minute": bench_first_minute,
    "capture": bench_capture,
    "foreign": bench_foreign,
    "load": bench_load,
    "package": bench_package,
    "inspect": bench_inspect,
    "matrix": bench_matrix,
    "memory": bench_memory,
    "call": bench_call,
    "report": bench_report,
    "costs": bench_costs,
    "diff": bench_diff,
    "sweep": bench_sweep,
    "view": bench_view,
    "trace": bench_trace,
    "notebook": bench_notebook,
    "models": bench_models,
    "numerics": bench_numerics,
    "opportunities": bench_opportunities,
    "own-kernels": bench_own_kernels,
    "saved-times": bench_saved_times,
    "session": bench_session,
    "trying": bench_trying,
    "tuning": bench_tuning,
    "checkpoint": bench_checkpoint,
    "checks": bench_checks,
    "cluster": bench_cluster,
    "previews": bench_previews,
    "profile-trace": bench_profile_trace,
    "rehearse": bench_rehearse,
    "variants": bench_variants,
    "virtual": bench_virtual,
    "large": bench_large,
    "virtual-verify": bench_virtual_verify,
    "wide": bench_wide,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(BENCHES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, to try the bench")
    parser.add_argument("--record", action="store_true", help="write the file and the page")
    chosen = parser.parse_args(arguments)
    names = chosen.names or list(BENCHES)
    if unknown := set(names) - set(BENCHES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    if chosen.record and chosen.quick:
        parser.error("what is measured with fewer repeats is not recorded")
    if chosen.record and any(getattr(BENCHES[name], "NEEDS_QUIET", True) for name in names):
        records.wait_for_quiet()
    print(f"{'name':<58} | {'ours':>8} | {'other':>8} | {'value':>8} |   reach |", flush=True)
    missed = 0
    for name in names:
        found = list(_printed(BENCHES[name].figures(chosen.quick)))
        missed += sum(not figure.passed for figure in found)
        if chosen.record:  # at once: what is measured is not lost when a later one fails
            record({name: found})
    return 0 if missed == 0 else 1


def _printed(figures: Iterable[Figure]) -> Iterator[Figure]:
    for figure in figures:
        print(figure.row(), flush=True)
        yield figure


def record(found: Mapping[str, list[Figure]]) -> None:
    """Write the figures into the file, in the place of older ones, and the table of the page.

    Figures of other machines or of other versions stay, with their letter.
    """
    here, kept = records.here(), records.Record.load()
    today, place = datetime.date.today().isoformat(), kept.letter(here)
    rows = [
        row
        for name, figures in found.items()
        for row in records.recorded(figures, BENCHES[name].CONDITIONS, today, place)
    ]
    made = kept.with_figures(here, rows)
    made.save()
    figures_page.write(made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

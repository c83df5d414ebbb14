"""Measures every figure: `python -m tests.bench [NAME ...] [--quick] [--json PATH]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.bench import (
    bench_call,
    bench_capture,
    bench_diff,
    bench_first_compile,
    bench_import,
    bench_inspect,
    bench_load,
    bench_matrix,
    bench_models,
    bench_notebook,
    bench_package,
    bench_report,
    bench_sweep,
    bench_trace,
    bench_view,
    bench_virtual,
    bench_virtual_verify,
)
from tests.bench.figure import Figure

BENCHES: Mapping[str, Callable[[bool], Iterator[Figure]]] = {
    "import": bench_import.figures,
    "first-compile": bench_first_compile.figures,
    "capture": bench_capture.figures,
    "load": bench_load.figures,
    "package": bench_package.figures,
    "inspect": bench_inspect.figures,
    "matrix": bench_matrix.figures,
    "call": bench_call.figures,
    "report": bench_report.figures,
    "diff": bench_diff.figures,
    "sweep": bench_sweep.figures,
    "view": bench_view.figures,
    "trace": bench_trace.figures,
    "notebook": bench_notebook.figures,
    "models": bench_models.figures,
    "virtual": bench_virtual.figures,
    "virtual-verify": bench_virtual_verify.figures,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(BENCHES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, to try the bench")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(BENCHES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    print(f"{'name':<58} | {'ours':>8} | {'other':>8} | {'value':>8} |   reach |", flush=True)
    found: list[Figure] = []
    for name in chosen.names or BENCHES:
        for figure in BENCHES[name](chosen.quick):
            found.append(figure)
            print(figure.row(), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps([figure.to_json() for figure in found], indent=1) + "\n")
    return 0 if all(figure.passed for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

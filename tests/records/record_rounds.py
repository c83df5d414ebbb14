"""Records the rounds of one setting, measured again and again: `-m tests.records.record_rounds`.

Each worker process compiles the same function and measures it several times, as the trials of a
sweep do; `rounds.json.gz` then holds what the machine's noise looks like within and between
processes.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("rounds.json.gz")
WORKERS, RUNS = 10, 20


def normed(x: Any) -> Any:
    return ((x - x.mean(-1, keepdim=True)).tanh() * 2).softmax(-1)


def work() -> None:
    """One worker: its runs as JSON, each the times in µs of both sides, round by round."""
    import torch

    from workbench.compiler.pairs.paired_rounds import Patience, measure_in_turn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(64, 512)
    compiled = torch.compile(normed)
    compiled(x)
    patience = Patience(budget_s=1.0)
    for _ in range(RUNS):
        times = measure_in_turn(lambda: normed(x), lambda: compiled(x), patience)
        rows = [[float(f"{t:.5g}") for t in side] for side in (times.after_us, times.before_us)]
        sys.stdout.write(json.dumps(rows) + "\n")


def main() -> None:
    """Run the workers one after the other and write the file."""
    workers = []
    for number in range(WORKERS):
        command = [sys.executable, "-m", "tests.records.record_rounds", "work"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        workers.append([json.loads(line) for line in done.stdout.splitlines()])
        print(number, [len(run[0]) for run in workers[-1]], flush=True)
        text = json.dumps({"workers": workers}, separators=(",", ":"))
        FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    work() if sys.argv[1:] == ["work"] else main()

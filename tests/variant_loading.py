"""What a fresh process says of a file of variants: `python -m tests.variant_loading FILE KIND`."""

from __future__ import annotations

import json
import sys

import torch
from torch._dynamo.utils import counters

import workbench as wb
from tests.variant_samples import Block, batch, scored, step


def main() -> None:
    """Print what a file gives in this process, and what torch did for it."""
    path, kind = sys.argv[1:]
    model = Block()
    loaded = wb.load(path, scored if kind == "function" else model, trust=True)
    if kind == "training":
        results = [step(loaded, model, rows) for rows in (4, 6, 9)]
    else:
        with torch.no_grad():
            results = [loaded(batch(rows)).flatten().tolist() for rows in (4, 6, 9)]
    told = {"results": results, "frames": counters["frames"], "inductor": counters["inductor"]}
    print(json.dumps({**told, "misses": loaded.misses}))


if __name__ == "__main__":
    main()

"""Which opcodes occur: `python -m tests.compiler.virtual_gpu.occurring_opcodes h100 …`.

Compiles every case for the GPUs, adds what occurs to `tests/specs/opcodes/occurring_opcodes.json`,
and lists what has no explanation yet.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.compiler.virtual_gpu.model_cases import CASES
from tests.compiler.virtual_gpu.test_cases import run
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.specs import Catalogue
from workbench.specs.device import Device
from workbench.specs.opcodes import opcodes_in
from workbench.specs.opcodes.opcode_words import find_undescribed

KEPT = Path(__file__).parents[2] / "specs" / "opcodes" / "occurring_opcodes.json"


def found(gpu: str, worker: CrossCompiler) -> Iterator[tuple[str, str]]:
    """Stage and opcode, as they occur."""
    device = Device(Catalogue.built_in()[gpu])
    for case in CASES.values():
        if case.refused is not None:
            continue
        report = run(case, device, worker)
        for row in report.assembly:
            for opcode in opcodes_in(row.stage, report.texts.get(row.text or "", "")):
                yield row.stage, opcode


def main(gpus: list[str]) -> None:
    """Compile, write the list and say what is missing."""
    kept = {stage: set(names) for stage, names in json.loads(KEPT.read_text()).items()}
    worker = CrossCompiler(start_s=120, job_s=300)
    try:
        for gpu in gpus:
            for stage, opcode in found(gpu, worker):
                kept.setdefault(stage, set()).add(opcode)
    finally:
        worker.close()
    lists = {stage: sorted(names) for stage, names in sorted(kept.items())}
    KEPT.write_text(json.dumps(lists, indent=0) + "\n")
    missing = {
        m for stage, names in lists.items() for n in names for m in find_undescribed(stage, n)
    }
    print("\n".join(sorted(missing)) or "Every opcode and modifier is described.")


if __name__ == "__main__":
    main(sys.argv[1:] or ["h100", "a100", "mi300x"])

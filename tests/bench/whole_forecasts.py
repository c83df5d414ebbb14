"""`wb.forecast` of whole programs beside an H200: `python -m tests.bench.whole_forecasts`.

Every model of `tests/gpu` is compiled for a virtual H200 and held against the times in
`tests/gpu/forecasts_h200.json`, which `python -m tests.gpu.forecasts` measured. Writes
`whole_forecasts.json` and its table in the page of modelled times.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.bench.kernel_times import PAGE
from tests.bench.trace_rows import ROOT
from tests.gpu.more_models import MORE
from tests.gpu.whole_models import WHOLE, Whole

MEASURED = ROOT / "tests" / "gpu" / "forecasts_h200.json"
RECORD = Path(__file__).with_name("whole_forecasts.json")
BEGIN = "<!-- whole programs: written by tests.bench.whole_forecasts -->\n"
END = "<!-- end of whole programs -->\n"
REACH = 0.15
Row = Mapping[str, Any]


def compile_model(whole: Whole) -> wb.CompiledModule:
    """The model for inference on a virtual H200, without values."""
    with torch.device("meta"):
        module = whole.module().to(whole.dtype).eval()
    inputs = [
        x.to("meta", whole.dtype) if x.is_floating_point() else x.to("meta") for x in whole.inputs()
    ]
    if whole.last:
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs = [x.contiguous(memory_format=torch.channels_last) for x in inputs]
    return wb.aot_compile(module, tuple(inputs), target="h200", grad=False)


def judge_model(measured: Row) -> Row:
    """The forecast of one model beside its measured time."""
    compiled = compile_model({**WHOLE, **MORE}[measured["model"]])
    told = wb.forecast(compiled)
    calls = Counter(row.name for row in compiled.report.kernels if not row.is_generated)
    took = measured["measured_kernels_us"]
    unknown = [row for row in told.rows if row.source == "bound"]
    holds = (
        None if told.error is None else abs(took - told.kernels_us) <= told.error * told.kernels_us
    )
    return {
        "model": measured["model"],
        "measured_us": took,
        "told_us": round(told.kernels_us, 1),
        "off": round(told.kernels_us / took - 1, 3),
        "error": told.error and round(told.error, 2),
        "holds": holds,
        "unknown": len(unknown),
        "is_same": calls == Counter(measured["library_calls"]),
        "kernels": len(told.rows),
        "told_before_us": measured["told_then_us"],
    }


def make_table(rows: Sequence[Row]) -> str:
    """A row for each model, and how many intervals hold."""
    whole = [row for row in rows if row["is_same"] and not row["unknown"]]
    offs = [abs(row["off"]) for row in whole]
    held = [row["holds"] for row in whole if row["holds"] is not None]
    lines = [
        f"{len(whole)} of {len(rows)} programs have no calls of unknown time, and call the same "
        f"libraries here as in the measured run. Their median error is "
        f"{statistics.median(offs):.0%} (target: at most {REACH:.0%}). The measured time is within "
        f"the interval for {sum(held)} of {len(held)}.",
        "",
        "| program | kernels | measured | forecast | error | interval holds | unknown |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda row: str(row["model"])):
        off = f"{row['off']:+.0%}".replace("-", "−")
        off = off if abs(row["off"]) <= REACH else f"**{off}**"
        holds = {True: "yes", False: "**no**", None: "–"}[row["holds"]]
        lines.append(
            f"| {row['model']} | {row['kernels']} | {row['measured_us']:,.0f} µs "
            f"| {row['told_us']:,.0f} µs | {off} | {holds} | {_explain(row)} |"
        )
    return "\n".join(lines).replace("%", " %") + "\n"


def _explain(row: Row) -> str:
    """What keeps a program from being compared."""
    if not row["is_same"]:
        return "this torch calls different libraries than the measured run"
    number = row["unknown"]
    return f"{number} library call{'s' * (number != 1)}" if number else ""


def on_page(text: str) -> str:
    """The part of the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def main(names: Sequence[str]) -> int:
    """Compile, hold against the times, write; `names` of models alone print their rows."""
    measured = json.loads(MEASURED.read_text())["rows"]
    rows = []
    for row in measured:
        if not names or row["model"] in names:
            rows.append(judge_model(row))
            print(rows[-1], flush=True)
    if not names:
        RECORD.write_text(json.dumps(rows, indent=1) + "\n")
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + make_table(rows) + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

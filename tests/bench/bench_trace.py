"""A large `TORCH_TRACE` log as a report: seconds, memory and counts beside those of tlparse."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests import tlparse_counts
from tests.bench.figure import ROOT, Figure, child, peak_bytes

CONDITIONS = (
    "Logs of a GPT-2 training step and of recompilations, repeated under other names. Each run "
    "is a fresh process with the file in the page cache, and the import is included. Compared "
    "with tlparse"
)
REACH_S, REACH_MB, SIZE_MB = 3.0, 250, 70
MB = 1e6
_HEADER = re.compile(r"[VDIWEC]\d{4} [^\n{]*\] \{")
_COMPILE_ID = re.compile(r'("compile_id": ")(\d+)/')
_STATS = re.compile(r"(\w+): (\d+)")


def figures(quick: bool = False) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "dedicated_log_torch_trace_rank_0_large.log"
        size = SIZE_MB // 10 if quick else SIZE_MB
        enlarge(recorded(Path(folder)), log, int(size * MB))
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        rounds: dict[str, list[Any]] = {"opened": [], "read": [], "tlparse": []}
        for _ in range(1 if quick else 3):
            for way, found in rounds.items():
                found.append(child(__name__, way, str(log), folder, variables=variables))
    what = f"{size} MB TORCH_TRACE log"
    seconds = {w: statistics.median(r["seconds"] for r in found) for w, found in rounds.items()}
    memory = {w: max(r["mb"] for r in found) for w, found in rounds.items()}
    ours, theirs = rounds["read"][0]["counts"], rounds["tlparse"][0]["counts"]
    note = f"report open, nothing looked at: {seconds['opened']:.2f} s, {memory['opened']:.0f} MB"
    yield Figure(
        f"{what}, every table read (s)",
        *(seconds["read"], seconds["tlparse"], seconds["read"]),
        *(REACH_S, "s", note),
    )
    yield Figure(
        "  peak memory",
        *(memory["read"], memory["tlparse"], memory["read"]),
        *(REACH_MB, "MB"),
    )
    different = sum(ours[name] != theirs[name] for name in theirs)
    shown = ", ".join(f"{ours[name]} {name}" for name in theirs)
    yield Figure("  counts that differ from tlparse's", different, None, different, 0, "", shown)
    unknown = rounds["read"][0]["unknown"], rounds["tlparse"][0]["unknown"]
    yield Figure("  records of unknown kinds", *unknown, unknown[0], unknown[1], "records")


def recorded(folder: Path) -> list[str]:
    """Logs of a GPT-2 training step and of functions that break and are compiled again."""
    trace = folder / "trace"
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TORCH_TRACE": str(trace),
        "INDUCTOR_PROVENANCE": "1",
    }
    programs = (["-m", __name__, "step", "", ""], ["tests/records/traced.py", "recompiles"])
    for program in programs:
        command = [sys.executable, *program]
        subprocess.run(command, env=variables, cwd=ROOT, check=True, capture_output=True)
    return [log.read_text() for log in sorted(trace.glob("*.log"))]


def step_here() -> None:
    """Compile a training step of a small GPT-2."""
    import torch

    from tests.models import zoo

    case = zoo.build("gpt2", layers=4, width=256, length=64, words=1000)
    inputs = {**case.inputs, "labels": case.inputs["input_ids"]}
    case.model.train()
    case.model.loss_type = "ForCausalLM"
    torch.compile(case.model)(**inputs).loss.backward()


def enlarge(logs: list[str], target: Path, size: int) -> None:
    """Write the logs over and over; each copy has compilations and file names of its own."""
    records = [(n, record) for n, log in enumerate(logs) for record in _records(log)]
    written = copy = 0
    with target.open("w") as file:
        while written < size:
            for number, (head, metadata, payload) in records:
                if "str" in metadata and copy:
                    continue  # file names are sent once
                shift = 100 * (len(logs) * copy + number)
                text = _renamed(head, metadata, payload, shift, copy)
                written += len(text)
                file.write(text)
                if written >= size and "compilation_metrics" in metadata:
                    return
            copy += 1


def _records(log: str) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    lines = log.split("\n")
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head, _, metadata = lines[start].partition("] {")
        payload = "\n".join(line[1:] for line in lines[start + 1 : end] if line.startswith("\t"))
        data = json.loads("{" + metadata)
        yield head, data, payload if "has_payload" in data else None


def _renamed(
    head: str, metadata: dict[str, Any], payload: str | None, shift: int, copy: int
) -> str:
    def moved(text: str) -> str:
        text = _COMPILE_ID.sub(lambda m: f"{m[1]}{int(m[2]) + shift}/", text)
        return text.replace("traced.py", f"traced_{copy}.py").replace(
            "modeling_gpt2.py", f"modeling_gpt2_{copy}.py"
        )

    data = json.loads(moved(json.dumps(metadata)))
    if "frame_id" in data:
        data["frame_id"] += shift
    lines = ""
    if payload is not None:
        content = moved(payload)
        digest = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
        data["has_payload"] = digest
        lines = "".join(f"\t{line}\n" for line in content.split("\n"))
    return f"{head}] {json.dumps(data)}\n{lines}"


def read_here(path: Path, *, every_table: bool) -> dict[str, Any]:
    """Seconds and peak memory of this process, which reads the log."""
    start = time.perf_counter()
    import workbench as wb

    trace = wb.read_trace(path)
    if every_table:
        for name in trace.tables:
            len(getattr(trace, name))
        len(trace.texts)
    seconds = time.perf_counter() - start
    peak = peak_bytes() / MB
    if not every_table:
        return {"seconds": seconds, "mb": peak}
    counts = tlparse_counts.Counts(
        graphs=len(trace.graphs),
        breaks=sum(row.count for row in trace.breaks),
        recompiles=len({row.compile_id for row in trace.recompiles}),
        kernels=len(trace.kernels),
    )
    unknown = sum(len(rows) for rows in trace.extra["unknown_records"].values())
    return {"seconds": seconds, "mb": peak, "counts": asdict(counts), "unknown": unknown}


def tlparse_here(path: Path, folder: Path) -> dict[str, Any]:
    """Seconds and peak memory of tlparse, and what it found."""
    found = tlparse_counts.program()
    assert found is not None, "install the extra `test`"
    output = folder / "tlparse"
    command = [found, str(path), "-o", str(output), "--overwrite", "--no-browser", "--plain-text"]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / MB
    stats = dict(_STATS.findall(done.stderr + done.stdout))
    counts = asdict(tlparse_counts.counts(output))
    return {
        "seconds": seconds,
        "mb": peak,
        "counts": counts,
        "unknown": int(stats.get("unknown", 0)),
    }


if __name__ == "__main__":
    way, path, folder = sys.argv[1:]
    if way == "step":
        step_here()
    elif way == "tlparse":
        print(json.dumps(tlparse_here(Path(path), Path(folder))))
    else:
        print(json.dumps(read_here(Path(path), every_table=way == "read")))

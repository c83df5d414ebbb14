"""What the record of a large program costs: a graph of 1,000 nodes, a step, 50 graphs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.bench_capture import FOLDER, compile_cpu
from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

CONDITIONS = (
    "On the host, in CPU seconds of the process. Kernels are already built, and graph caches "
    "are emptied before each run. For 50 graphs, `torch.compile` in a session that records all "
    "of them is compared with `torch.compile` alone. A view is the packed document of the "
    "report, or the page of a session. The second view of an unopened report is timed. The step "
    "has no dropout, because its seeds would give each layer its own kernel"
)
NEEDS_QUIET = False  # CPU seconds, in turn: what else runs makes them larger, never smaller
REACH, REACH_MB, REACH_VIEW_S = 1.10, 5, 0.3
MB = 1e6
_BLOCKS, _LAYERS, _GRAPHS = 250, 24, 50
_PAIRS = {"graph": 3, "step": 1, "breaks": 3}
_BLOCKS_QUICKLY, _LAYERS_QUICKLY, _GRAPHS_QUICKLY = 20, 2, 4


@dataclass(frozen=True)
class _Program:
    """Both ways to compile it, and what the first way leaves: its file, its view.

    `again` is the same record, of which nothing was looked at yet.
    """

    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    save: Callable[[Any, Path], object]
    view: Callable[[Any], object]
    again: Callable[[Any], Any]
    note: Callable[[Any], str]


def figures(quick: bool = False) -> Iterator[Figure]:
    names = {
        "graph": "compile a graph of 1,000 nodes",
        "step": "compile a 24-layer GPT-2 training step",
        "breaks": "compile a program of 50 graphs",
    }
    for key, name in names.items():
        with empty_caches() as variables:
            folder = str(Path(variables["TMPDIR"]) / "inductor")
            pairs = "1" if quick else str(_PAIRS[key])
            size = "quick" if quick else ""
            found = child(__name__, key, pairs, size, variables=variables | {FOLDER: folder})
        yield ratio(f"{name} / plain torch (CPU s)", found["ours"], found["theirs"], REACH)
        megabytes, seconds = found["megabytes"], found["view_s"]
        yield Figure(
            f"{name}: record (MB)", megabytes, None, megabytes, REACH_MB, "MB", found["note"]
        )
        yield Figure(f"{name}: view (s)", seconds, None, seconds, REACH_VIEW_S, "s")


def measure_here(key: str, pairs: int, is_quick: bool) -> dict[str, object]:
    """One program, both ways in turn in this process."""
    import torch

    torch.set_num_threads(1)
    program = _PROGRAMS[key](is_quick)
    program.theirs()  # what is built here is reused from here on
    _graph(is_quick=True).ours()  # and what a record imports is imported
    records: list[Any] = []
    ours, theirs = interleaved(
        compile_cpu(lambda: records.append(program.ours())), compile_cpu(program.theirs), pairs
    )
    record = records[-1]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "record.wbr"
        program.save(record, file)
        megabytes = file.stat().st_size / MB
    program.view(record)  # what is imported for a first view is imported once
    record = program.again(record)
    started = time.process_time()
    program.view(record)
    return {
        "ours": ours,
        "theirs": theirs,
        "megabytes": megabytes,
        "view_s": time.process_time() - started,
        "note": program.note(record),
    }


def _graph(is_quick: bool) -> _Program:
    import torch

    from tests.bench.wide_programs import Chain

    chain = Chain(_BLOCKS_QUICKLY if is_quick else _BLOCKS)
    return _of_module(chain, {"x": torch.randn(64, 8)}, grad=False)


def _step(is_quick: bool) -> _Program:
    import torch

    from tests.models import zoo

    layers = _LAYERS_QUICKLY if is_quick else _LAYERS
    case = zoo.build("gpt2", layers=layers, width=256, length=64, words=1000)
    case.model.train()
    for part in case.model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    case.model.config.attn_pdrop = 0.0
    case.model.loss_type = "ForCausalLM"  # else its code warns, which no graph can hold
    inputs = {**case.inputs, "labels": case.inputs["input_ids"]}
    return _of_module(case.model, inputs, grad=True)


def _of_module(module: Any, inputs: dict[str, Any], *, grad: bool) -> _Program:
    import torch

    import workbench as wb
    from tests.bench import torch_path
    from workbench.views.document import document
    from workbench.views.wire.codec import pack

    def theirs() -> None:
        with torch.set_grad_enabled(grad):
            torch_path.compile_module(module, inputs)

    def note(report: wb.Report) -> str:
        count = sum(graph.node_count for graph in report.graphs if graph.stage == "dynamo")
        return f"{count} nodes, {len(report.guards)} guards, {len(report.kernels)} kernels"

    return _Program(
        ours=lambda: wb.aot_compile(module, (), inputs, grad=grad).report,
        theirs=theirs,
        save=lambda report, path: report.save(path),
        view=lambda report: pack(document(report)),
        again=replace,
        note=note,
    )


def _breaks(is_quick: bool) -> _Program:
    import torch

    import workbench as wb
    from tests.bench.wide_programs import in_parts

    program, x = in_parts(_GRAPHS_QUICKLY if is_quick else _GRAPHS), torch.randn(64, 64)

    def theirs() -> None:
        with torch.no_grad():
            torch.compile(program)(x)

    def ours() -> wb.Session:
        with wb.session() as session:
            theirs()
        return session

    return _Program(
        ours=ours,
        theirs=theirs,
        save=lambda session, path: session.save(path),
        view=lambda session: session.to_html(),
        again=lambda session: wb.Session(
            session.header,
            session.tables,
            {number: replace(report) for number, report in session.reports.items()},
        ),
        note=lambda session: f"{len(session.reports)} graphs",
    )


_PROGRAMS = {"graph": _graph, "step": _step, "breaks": _breaks}

if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "quick")))

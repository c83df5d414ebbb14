"""What a recorder saw and what the log of the same compilation says, table by table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.logs.reading.both_ways import SAMPLES
from workbench.report import Report

ROOT = Path(__file__).parents[4]
SHARED = (
    *("sources", "graphs", "nodes", "breaks", "recompiles", "kernels", "wrappers", "buffers"),
    *("links", "phases", "cache"),
)
"""The tables that both have, besides the guards."""
_GRAPH = re.compile(r"g\d+(?=:|$)")
ALONE = "only recorded"  # a graph that torch shows a recorder and writes to no log

_SCHEDULER = "only the recorder sees Inductor's scheduler"
_MODEL = "the recorder has Inductor's model of traffic, a log the sizes of whole buffers"
_MAP = "torch writes an empty map of kernels to nodes for a backward that is compiled when it runs"
_PRINTED = "torch prints for a node the innermost line alone, and for an input none"
_TUPLE = "a printed graph has no type of a tuple, nor of the output"
_UNPACKED = "the scheduler gives no type to a call whose result is unpacked, its parts have one"
_FUSED = "a program has no buffer that fusion took away, nor one of a size"
_CALLERS = "only the recorder sees the whole stack of a node"
_BUILT = "only the recorder looks at the built code of kernels"
_TRACED = "where torch traces again, only the recorder sees which node a node comes from"
_THREADS = "a log names no thread: phases of builders lie beside or in those of the main thread"
_AMBIENT = "Dynamo has guards on states and absent names whose code only the tree that checks tells"
_TREE = "the tree checks more than Dynamo tells: a tensor, the global state, what is not in a dict"
_CHECK = "a log has the kind of the check, the recorder that of the guard that it is for"
_LAST = "the tree has at its end, of nothing, the check that two names are one object"
_CUT = "the tree has the innermost line, of a file whose path torch cuts, the recorder the user's"
ONE_SIDE = {
    ("buffers", "bytes"): _TUPLE,
    ("buffers", "device"): _UNPACKED,
    ("buffers", "dtype"): _UNPACKED,
    ("buffers", "node"): _SCHEDULER,
    ("buffers", "parts"): _SCHEDULER,
    ("buffers", "read_by"): _SCHEDULER,
    ("buffers", "rows recorded"): _FUSED,
    ("buffers", "shape"): _UNPACKED,
    ("buffers", "written_by"): _SCHEDULER,
    ("guards", "checks, logged"): _TREE,
    ("guards", "file"): _CUT,
    ("guards", "is_global"): _LAST,
    ("guards", "kind"): _CHECK,
    ("guards", "line"): _CUT,
    ("guards", "rows without a check, recorded"): _AMBIENT,
    ("guards", "source"): _LAST,
    ("kernels", "bytes_read"): _MODEL,
    ("kernels", "bytes_written"): _MODEL,
    ("kernels", "called_from"): _CALLERS,
    ("kernels", "flops"): _SCHEDULER,
    ("kernels", "lines"): _MAP,
    ("kernels", "nodes"): _MAP,
    ("kernels", "ops"): _MAP,
    ("kernels", "scheduler_nodes"): _SCHEDULER,
    ("links", "call-kernel, recorded"): _CALLERS,
    ("links", "kernel-buffer, logged"): _TUPLE,
    ("links", "kernel-buffer, recorded"): _FUSED,
    ("links", "line-kernel, recorded"): _MAP,
    ("links", "line-line, recorded"): _CALLERS,
    ("links", "line-node, recorded"): _PRINTED,
    ("links", "node-kernel, recorded"): _MAP,
    ("links", "node-node, recorded"): _TRACED,
    ("links", "node-scheduler, recorded"): _SCHEDULER,
    ("links", "scheduler-fused, recorded"): _SCHEDULER,
    ("links", "scheduler-kernel, recorded"): _SCHEDULER,
    ("nodes", "bytes"): _TUPLE,
    ("nodes", "called_from"): _CALLERS,
    ("nodes", "file"): _PRINTED,
    ("nodes", "line"): _PRINTED,
    ("nodes", "module_path"): "torch does not print the module of a node",
    ("nodes", "operator"): "torch does not print the operator that autograd took apart",
    ("phases", "depth"): _THREADS,
    ("phases", "self_s"): _THREADS,
    ("phases", "thread"): _THREADS,
}
"""What only one side can know, or each in its way: table and column, and why."""
_DROPPED = "a log has what torch checks here, a recorder also what of that a file can hold"
OF_PACKAGES = {
    ("cache", "rows recorded"): "the recorder bypasses the caches, and asks them itself",
    ("guards", "kept"): _DROPPED,
    ("guards", "why_dropped"): _DROPPED,
    ("kernels", "estimate"): _BUILT,
    ("kernels", "occupancy"): _BUILT,
    ("kernels", "registers"): _BUILT,
    ("kernels", "smem_bytes"): _BUILT,
    ("kernels", "spills"): _BUILT,
    ("phases", "duration_s"): "a phase that torch does not end, ends with the recorder or the log",
}
"""The same, for a package for a GPU."""
QUICK = ("looping", "refused", "broken")

Difference = tuple[str, str]
"""A table and its column; the column is `rows` where one side lacks a row."""


def list_rows(report: Report, table: str) -> list[dict[str, Any]]:
    """The rows of a table as plain data, texts in the place of their keys."""
    rows = [asdict(row) for row in getattr(report, table)]
    for row in rows:
        if table != "breaks" and row.get("text") is not None:
            row["text"] = report.texts[row["text"]]
    return rows


def pair_graphs(live: Report, log: Report) -> dict[str, str]:
    """By the id of a recorded graph that of the same graph of the log."""
    known: dict[tuple[Any, ...], list[str]] = {}
    for graph in log.graphs:
        known.setdefault((graph.compile_id, graph.stage, graph.is_backward), []).append(graph.id)
    pairs = {}
    for graph in live.graphs:
        if same := known.get((graph.compile_id, graph.stage, graph.is_backward)):
            pairs[graph.id] = same.pop(0)
    assert not any(known.values()), f"the log alone has the graphs {known}"
    return pairs


def rename(value: Any, pairs: dict[str, str]) -> Any:
    """A value of a recorded row with the ids of graphs that the log gives them."""
    if isinstance(value, tuple):
        return tuple(rename(each, pairs) for each in value)
    if isinstance(value, str) and _GRAPH.match(value):
        return _GRAPH.sub(lambda found: pairs.get(found[0], ALONE), value, count=1)
    return value


def list_shared(live: Report, log: Report, table: str) -> tuple[list[Any], list[Any]]:
    """The rows of a table of both sides, as far as both can have them."""
    recorded, logged = list_rows(live, table), list_rows(log, table)
    if table in ("graphs", "nodes", "links", "kernels", "buffers"):
        pairs = pair_graphs(live, log)
        recorded = [{name: rename(row[name], pairs) for name in row} for row in recorded]
    if table in ("graphs", "nodes"):
        recorded = [row for row in recorded if ALONE not in f"{row['id']} {row.get('graph')}"]
    if table == "links":
        recorded = [row for row in recorded if ALONE not in repr(row)]
        # those between graphs of which the log lacks one, and so takes an earlier one for
        known = {(_graph_of(row["a"]), _graph_of(row["b"])) for row in recorded}
        logged = [row for row in logged if (_graph_of(row["a"]), _graph_of(row["b"])) in known]
    if table == "phases":
        others = {row["name"] for row in recorded if row["thread"] != "main"}
        recorded = [row for row in recorded if row["thread"] == "main"]
        recorded = [row for row in recorded if row["name"] != "compile"]
        logged = [row for row in logged if row["name"] not in others]
        for row in recorded:
            row["depth"] -= 1
            row["name"] = row["name"].partition(": ")[0]
        for row in (*recorded, *logged):
            del row["id"], row["start_s"]
    return recorded, logged


def list_checks(report: Report) -> dict[str, list[Any]]:
    """The guards by each of their checks; one that tells none is there by its kind and source."""
    checks: dict[str, list[Any]] = {}
    for row in list_rows(report, "guards"):
        del row["id"]
        for check in row.pop("code") or (f"no check: {row['kind']} {row['source']}",):
            checks.setdefault(check, []).append(row)
    return checks


def find_guard_differences(live: Report, log: Report) -> Iterator[tuple[Difference, str]]:
    """Every cell in which two guards with the same check differ, and the checks of one side."""
    recorded, logged = list_checks(live), list_checks(log)
    for check in dict.fromkeys((*recorded, *logged)):
        here, there = recorded.get(check, []), logged.get(check, [])
        for ours, theirs in zip(here, there, strict=False):
            yield from (
                (("guards", column), f"{check}: {ours[column]!r} is {theirs[column]!r} in the log")
                for column in ours
                if ours[column] != theirs[column]
            )
        what = "rows without a check" if check.startswith("no check: ") else "checks"
        yield from ((("guards", f"{what}, recorded"), check) for _ in here[len(there) :])
        yield from ((("guards", f"{what}, logged"), check) for _ in there[len(here) :])


def _graph_of(id: str) -> str:
    found = _GRAPH.match(id)
    return found[0] if found else ""


def find_differences(live: Report, log: Report) -> Iterator[tuple[Difference, str]]:
    """Every cell in which the two differ, and every row that one of them lacks."""
    yield from find_guard_differences(live, log)
    for table in SHARED:
        recorded, logged = list_shared(live, log, table)
        if table == "links" or (len(recorded) != len(logged) and table != "buffers"):
            here, there = Counter(map(repr, recorded)), Counter(map(repr, logged))
            for side, rows in (("recorded", here - there), ("logged", there - here)):
                for row in rows:
                    relation = re.search(r"'relation': '([\w-]+)'", row)
                    yield (table, f"{relation[1]}, {side}" if relation else f"rows {side}"), row
            continue
        if table == "buffers":
            by_id = {row["id"]: row for row in logged}
            yield from (
                ((table, "rows recorded"), id) for row in recorded if (id := row["id"]) not in by_id
            )
            recorded = [row for row in recorded if row["id"] in by_id]
            assert len(recorded) == len(logged), "the log alone has a buffer"
            logged = [by_id[row["id"]] for row in recorded]
        for ours, theirs in zip(recorded, logged, strict=True):
            for column in ours:
                if ours[column] != theirs[column]:
                    where = ours.get("id") or ours.get("name")
                    cell = f"{where}: {ours[column]!r} is {theirs[column]!r} in the log"
                    yield (table, column), cell


@pytest.fixture(scope="session")
def compile_samples(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles samples in a process of their own; the folder has a record and a log of each."""

    @cache
    def compiled(*names: str) -> Path:
        folder = tmp_path_factory.mktemp("both_ways")
        (folder / "h100").mkdir()
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "INDUCTOR_PROVENANCE": "1",
            "AOT_WORKBENCH_CACHE": str(folder / "workbench"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            **({"TORCH_TRACE": str(folder / "h100")} if names == ("h100",) else {}),
        }
        command = [sys.executable, "-m", "tests.worlds.logs.reading.both_ways", str(folder), *names]
        done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return folder

    return compiled


def collect(folder: Path, names: Sequence[str]) -> dict[Difference, list[str]]:
    """Where the two sides differ, with every cell."""
    found: dict[Difference, list[str]] = {}
    for name in names:
        live, log = Report.load(folder / f"{name}.wbr"), wb.read_trace(folder / name)
        for difference, cell in find_differences(live, log):
            found.setdefault(difference, []).append(f"{name}: {cell}")
    return found


def test_a_recorder_and_a_log_say_the_same(compile_samples: Callable[..., Path]) -> None:
    found = collect(compile_samples(*QUICK), QUICK)
    assert {place: cells[:3] for place, cells in found.items() if place not in ONE_SIDE} == {}


@pytest.mark.slow
def test_a_recorder_and_a_log_say_the_same_of_every_sample(
    compile_samples: Callable[..., Path],
) -> None:
    found = collect(compile_samples(), list(SAMPLES))
    assert {place: cells[:3] for place, cells in found.items() if place not in ONE_SIDE} == {}
    assert ONE_SIDE.keys() == found.keys(), "the table names what no sample shows"


@pytest.mark.slow
def test_a_recorder_and_a_log_say_the_same_of_a_package_for_a_gpu(
    compile_samples: Callable[..., Path],
) -> None:
    found = collect(compile_samples("h100"), ["h100"])
    known = ONE_SIDE | OF_PACKAGES
    assert {place: cells[:3] for place, cells in found.items() if place not in known} == {}
    assert found.keys() >= OF_PACKAGES.keys() - {("phases", "duration_s")}


def test_a_log_has_every_check_that_a_recorder_has(compile_samples: Callable[..., Path]) -> None:
    folder = compile_samples(*QUICK)
    live, log = Report.load(folder / "broken.wbr"), wb.read_trace(folder / "broken")
    recorded, logged = list_checks(live), list_checks(log)
    assert len(recorded) > 40
    assert all(check.startswith("no check: ") for check in recorded.keys() - logged.keys())
    assert {row["is_global"] for rows in logged.values() for row in rows} == {True, False}


def test_both_guard_the_same_tensors(compile_samples: Callable[..., Path]) -> None:
    folder = compile_samples(*QUICK)
    for name in QUICK:
        sides = [Report.load(folder / f"{name}.wbr"), wb.read_trace(folder / name)]
        tensors = [
            Counter(g.source for g in side.guards if g.kind == "TENSOR_MATCH") for side in sides
        ]
        assert tensors[0] == tensors[1]


def test_a_session_of_a_log_names_methods_and_counts_breaks(
    compile_samples: Callable[..., Path],
) -> None:
    session = wb.read_trace(compile_samples(*QUICK) / "broken").session()
    assert [
        (row.function, row.kind, row.breaks, row.cache) for row in session.tables["compiles"]
    ] == [
        ("Broken.forward", "first", 1, "FX graph miss, AOTAutograd miss"),
        ("Broken.forward", "resume", 0, "FX graph miss, AOTAutograd miss"),
    ]
    assert [row.function for row in session.tables["breaks"]] == ["Broken.forward"]

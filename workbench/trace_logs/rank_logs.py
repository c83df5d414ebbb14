"""The logs of several ranks, each by itself, ready to be compared."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.ranks.logged_ranks import (
    DEFAULT_GROUP,
    LoggedProgram,
    LoggedRanks,
    compare_logs,
)
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.cluster.cluster_rows import Collective
from workbench.report.session.session_rows import Compile
from workbench.trace_logs.content import LogContent
from workbench.trace_logs.log_summary import list_unfinished, tell_losses
from workbench.trace_logs.log_tables import Building
from workbench.trace_logs.logged_collectives import list_graph_collectives
from workbench.trace_logs.session_tables import build_session

_CAPTURED = "captured"
_GENERATED = ("forward", "backward")
_TRACED = {"inference": "traced", "forward": "traced", "backward": "traced backward"}
"""By the stage of a graph that AOTAutograd made: as which part of the code it is compared."""
_DEVICE = re.compile(
    r"(\b(?:cuda|xpu|mtia|npu):|\b_DeviceGuard\(|\bset_device\(|stream\(?"
    r"|\b(?:DeviceProperties|device)\(type='\w+', index=)(\d+)\b"
)
_COLLECTIVE = "_c10d_functional"
_GROUP = re.compile(r"""(?<=[ =])(["'])(\w+)\1(?=\))""")  # torch gives its name last


def compare_ranks(
    report: Report, contents: Sequence[LogContent], building: Building
) -> LoggedRanks:
    """Where ranks differ; raises `UsageError` where it is not known whose each log is."""
    ranks = Counter(content.rank for content in contents)
    if len(ranks) < 2 or None in ranks or max(ranks.values()) > 1:
        said = ", ".join("none" if r is None else str(r) for r in sorted(ranks, key=str))
        raise UsageError(
            f"There is one log for each rank to compare, of at least two ranks. Of {len(contents)} "
            f"read here the ranks are: {said}. Read the folder that TORCH_TRACE named for one run."
        )
    rank_of = {building.prefix(content): int(content.rank or 0) for content in contents}
    compiles: dict[str, list[Compile]] = defaultdict(list)
    for row in build_session(report, contents, building.places).tables["compiles"]:
        compiles[row.id].append(row)
    code: dict[str, dict[str, str]] = defaultdict(dict)
    starts: dict[str, list[Collective]] = defaultdict(list)
    in_graphs: dict[str, dict[str, list[Collective]]] = defaultdict(dict)
    for graph in report.graphs:
        part = _CAPTURED if graph.stage == "dynamo" else _TRACED.get(graph.stage)
        if part is None or graph.compile_id is None or graph.text is None:
            continue
        text = report.texts[graph.text]
        code[graph.compile_id][part] = _strip(text)
        is_backward = graph.stage == "backward"
        in_graphs[graph.compile_id][part] = list(
            list_graph_collectives(text, is_backward=is_backward)
        )
    owners = building.compiles_of_programs()
    for wrapper in report.wrappers:
        part = "backward" if wrapper.is_backward else "forward"
        assert wrapper.text is not None  # a log has the program, or no row of it
        of_compile, text = code[owners[wrapper.graph]], _strip(report.texts[wrapper.text])
        # DDP's buckets split a graph into several programs of one compile
        of_compile[part] = f"{of_compile[part]}\n{text}" if part in of_compile else text
    for id, parts in code.items():
        if generated := {part: text for part, text in parts.items() if part in _GENERATED}:
            captured = {_CAPTURED: parts[_CAPTURED]} if _CAPTURED in parts else {}
            code[id] = {**captured, **generated}
    for collective in report.collectives:
        starts[owners[collective.graph]].append(collective)
    began = {
        building.prefix(content) + id: _name_begun(content, stack[-1])
        for content in contents
        for id, stack in content.starts.items()
        if stack
    }
    unfinished = {
        building.prefix(content) + id for content in contents for id in list_unfinished(content)
    }
    is_lossy = {int(content.rank or 0): content.damage.is_lossy for content in contents}
    lacks = {int(content.rank or 0): tuple(tell_losses(content)) for content in contents}
    lacks = {rank: reasons for rank, reasons in lacks.items() if reasons}
    programs = []
    for prefix, rank in rank_of.items():
        ids = [id for id in dict.fromkeys([*compiles, *code]) if id.startswith(prefix)]
        programs += [
            LoggedProgram(
                rank,
                id.removeprefix(prefix),
                tuple(compiles[id]),
                code[id],
                tuple(starts[id]),
                began.get(id, ""),
                id not in unfinished and not is_lossy[rank],
                in_graphs[id],
            )
            for id in ids
        ]
    name = ", ".join(report.request.name.split(", ")[:3])
    return compare_logs(name, rank_of.values(), programs, dict(sorted(lacks.items())))


def _name_begun(content: LogContent, frame: Mapping[str, Any]) -> str:
    file = content.strings.get(frame.get("filename", -1), "")
    return f"{frame.get('name')} {file.rpartition('/')[2]}:{frame.get('line')}"


def _strip(text: str) -> str:
    """Code without what is of one process: comments, which name files, its device, its groups.

    Devices and groups are numbered by where they first come, so that two of them stay apart.
    """
    devices, groups = _Numbers(), _Numbers({DEFAULT_GROUP: DEFAULT_GROUP})
    kept = []
    for line in map(str.rstrip, text.splitlines()):
        if line.lstrip().startswith("#"):
            continue
        line = _DEVICE.sub(lambda found: found[1] + devices.of(found[2]), line)
        if _COLLECTIVE in line:
            line = _GROUP.sub(lambda found: found[1] + groups.of(found[2]) + found[1], line)
        kept.append(line)
    return "\n".join(kept)


class _Numbers(dict[str, str]):
    def of(self, name: str) -> str:
        return self.setdefault(name, f"~{len(self)}")

"""A `TORCH_TRACE` log, or a folder of them, as a report."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BufferedIOBase
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.report import Report
from workbench.report.collectives.collective_rows import Collective
from workbench.report.program.program_record import ProgramRecord
from workbench.report.program.record_rows import Compile
from workbench.report.wbr_file import Lazy, LazyTexts, is_kernel_log
from workbench.worlds.logs.reading import log_summary
from workbench.worlds.logs.reading.content import LogContent, read_content
from workbench.worlds.logs.reading.log_records import Bounds
from workbench.worlds.logs.reading.log_summary import list_unfinished, tell_losses
from workbench.worlds.logs.reading.log_tables import Building
from workbench.worlds.logs.reading.logged_collectives import list_graph_collectives
from workbench.worlds.logs.reading.logged_ranks import (
    DEFAULT_GROUP,
    LoggedProgram,
    LoggedRanks,
    compare_logs,
)
from workbench.worlds.logs.reading.program_tables import build_program_record, list_compiles

_NAMES = ("*.log", "*.log.gz")
_MOST_PACKED = 200  # times; logs of torch are packed to a tenth or a thirtieth
_LEAST_UNPACKED = 256 << 20  # bytes
_RANK = re.compile(r"rank_(\d+)_")


def log_files(path: str | PathLike[str]) -> list[Path]:
    """The logs behind a path, by rank and then by name.

    Raises
    ------
    UsageError
        There is no such file or folder, or the folder holds no log.
    """
    where = Path(check_file_path(path)).expanduser()
    if where.is_dir():
        files = [file for name in _NAMES for file in where.glob(name)]
        if not files:
            raise UsageError(
                f"The folder {where} has no trace log (*.log, *.log.gz). "
                "Run the program with TORCH_TRACE=FOLDER and read that folder."
            )
        return sorted(files, key=lambda file: (rank_in(file.name) or 0, file.name))
    if not where.is_file():
        raise UsageError(
            f"The trace log {where} does not exist. Pass a log that torch wrote under "
            "TORCH_TRACE, or its folder."
        )
    return [where]


def rank_in(name: str) -> int | None:
    """The rank in the name of a log, as torch names them."""
    match = _RANK.search(name)
    return int(match[1]) if match else None


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Open a log, also a compressed one; raises `UsageError` when it cannot be read."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if is_packed else file
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"Cannot read the trace log {path}: {reason}.") from error


def read_head(path: Path) -> bytes:
    """The first bytes of a log, unpacked; none where they cannot be."""
    with opened(path) as log:
        try:
            return log.read(4096)
        except EOFError:
            return b""


@dataclass(frozen=True)
class Trace(Report):
    """The report of everything that logs hold, and that of each log alone.

    Each log is a process: `logs["rank 1"]` is its report, read when it is first asked for. Compile
    ids and threads of the whole bear the name of their log when there are several.
    """

    logs: Mapping[str, Report] = field(default_factory=dict, repr=False)
    as_session: Callable[[Report], ProgramRecord] | None = field(
        default=None, repr=False, compare=False
    )
    as_ranks: Callable[[Trace], LoggedRanks] | None = field(default=None, repr=False, compare=False)

    def session(self) -> ProgramRecord:
        """Return the log as a session: compiles, recompiles with their reasons, fallbacks.

        A log has no steps, no calls of compiled graphs, and not the nearest earlier variant; the
        notes of the session say so. Raises `UsageError` for a copy without its log.
        """
        if self.as_session is None:
            raise UsageError("This copy has no log: read the log with wb.read_trace.")
        return self.as_session(self)

    def ranks(self) -> LoggedRanks:
        """Compare what the ranks compiled, and find deadlocks.

        Raises `UsageError` if there is not one log for each of several ranks, and for a copy
        without its logs.
        """
        if self.as_ranks is None:
            raise UsageError("This copy has no logs: read the folder with wb.read_trace.")
        return self.as_ranks(self)

    def __repr__(self) -> str:
        """The summary of the report, and the names of the logs when there are several."""
        several = f", logs: {', '.join(self.logs)}" if len(self.logs) > 1 else ""
        return super().__repr__().replace("Report(", "Trace(")[:-1] + several + ")"


def read_trace(path: str | PathLike[str]) -> Trace:
    """Read a log or a folder of logs; see `workbench.read_trace`."""
    files = log_files(path)
    contents = [_content(file) for file in files]
    if not any(content.counts or content.strings for content in contents):
        if any(is_kernel_log(read_head(file)) for file in files):
            raise UsageError(f"{path} is a tritonparse log: open it with wb.read_tritonparse.")
        raise UsageError(
            f"{path} has no record of torch's structured trace{_passed_over(contents)}. "
            "Run the program with TORCH_TRACE=FOLDER and read that folder. Open a torch.profiler "
            "trace with wb.read_profile or `workbench profile`."
        )
    labels = _labels(contents, files)
    if len(files) == 1:
        whole = _trace(contents, {})
        return _trace(contents, {labels[0]: whole})
    for content, label in zip(contents, labels, strict=True):
        content.label = label
    alone = {label: partial(_alone, file) for label, file in zip(labels, files, strict=True)}
    return _trace(contents, Lazy(alone))


def _passed_over(contents: Sequence[LogContent]) -> str:
    """Why a log was not read to its end."""
    reasons = dict.fromkeys(c.damage.given_up for c in contents if c.damage.given_up)
    return f" ({'; '.join(reasons)})" if reasons else ""


def _content(file: Path) -> LogContent:
    with opened(file) as log:
        is_packed = isinstance(log, gzip.GzipFile)
        most = max(_LEAST_UNPACKED, _MOST_PACKED * file.stat().st_size)
        content = read_content(log, Bounds(whole=most) if is_packed else Bounds())
    if content.rank is None:
        content.rank = rank_in(file.name)
    return content


def _alone(file: Path) -> Report:
    return _trace([_content(file)], {})


def _labels(contents: Sequence[LogContent], files: Sequence[Path]) -> list[str]:
    """The names of the logs: the rank, or the end of the file's name where ranks repeat."""
    ranks = Counter(content.rank for content in contents)
    labels = []
    for content, file in zip(contents, files, strict=True):
        is_known = content.rank is not None and ranks[content.rank] == 1
        stem = file.name.partition(".")[0].removeprefix("dedicated_log_torch_trace_")
        labels.append(f"rank {content.rank}" if is_known else stem)
    return labels


def _trace(contents: Sequence[LogContent], logs: Mapping[str, Report]) -> Trace:
    building = Building(contents)
    return Trace(
        environment=log_summary.environment(contents, building.places),
        request=log_summary.request(contents),
        outcome=log_summary.outcome(contents),
        tables=building.tables(),
        texts=LazyTexts(building.texts),
        extra=_extra(contents),
        logs=logs,
        as_session=partial(build_program_record, contents=contents, places=building.places),
        as_ranks=partial(compare_ranks, contents=contents, building=building),
    )


def _extra(contents: Sequence[LogContent]) -> dict[str, Any]:
    """How many records of each kind there are, and those of kinds that are not known."""
    counts: Counter[str] = Counter()
    unknown: dict[str, list[Any]] = {}
    for content in contents:
        counts.update(content.counts)
        for kind, rows in content.unknown.items():
            unknown.setdefault(kind, []).extend(rows)
    return {"records": dict(counts), "unknown_records": unknown}


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
            "Comparing ranks needs one log per rank, of at least two ranks, but the logs read "
            f"here ({len(contents)}) have the ranks {said}. Read the TORCH_TRACE folder of one "
            "run."
        )
    rank_of = {building.prefix(content): int(content.rank or 0) for content in contents}
    compiles: dict[str, list[Compile]] = defaultdict(list)
    for row in list_compiles(contents, building.places):
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

"""Two reports compared: graphs by structure, kernels by what they compute, the rest by name."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, combinations, pairwise, zip_longest
from typing import Any, TypeVar

from workbench.analysis.diff import graph_matching, kernel_matching, schedule
from workbench.analysis.diff.difference import (
    ALL,
    EAGER,
    PARTS,
    UNFUSED,
    WHOLE,
    Change,
    Diff,
    KernelMatch,
    counted,
    get_label,
    kernels_of,
    name_relation,
)
from workbench.analysis.diff.graphview import CAPTURED
from workbench.analysis.diff.kernel_matching import moved
from workbench.analysis.fusion.fusion import count_eager_bytes
from workbench.analysis.fusion.traffic import count_moved_bytes, count_operation_bytes, sum_known
from workbench.analysis.fusion.why_not import Rejected, describe_group, rejected
from workbench.report import Break, Guard, Kernel, Report
from workbench.report.machine_rows import MatrixCell, Resources
from workbench.report.measures import measure_compile_seconds, measures
from workbench.report.record import describe_state

_PAIRS = {"variables", "options"}  # fields of (key, value) pairs
_LISTS = {"inputs"}  # fields whose items are compared one by one
_NEEDS = {"nodes": "graphs"} | {
    part: part
    for part in ("breaks", "guards", "recompiles", "fusion", "kernels", "autotune", "phases")
}
"""The capability of a report that a part is made from."""
_OWN_LINES = ("# AOT ID:", "# kernel path:", "#   %")
"""Number and place of a compilation, and its graph, where torch counts process groups."""
_FLAGS = ("cpp.", "cuda.", "rocm.", "xpu.", "triton.cudagraph")
"""Options of how generated code is built or started, of which its text says nothing."""


def compare(a: Report, b: Report, names: tuple[str, str] = ("a", "b")) -> Diff:
    """What differs from `a` to `b`; `names` are what the two are called."""
    graphs = graph_matching.match_graphs(a, b)
    matches = kernel_matching.match_kernels(a, b, schedule.tokens(a, b, graphs))
    changes, same = _structure(a, b, graphs)
    for part, rows in {
        "breaks": compare_breaks(a, b),
        "guards": compare_guards(a, b),
        "recompiles": recompile_changes(a, b),
        "fusion": compare_fusion(a, b, matches),
        "traffic": compare_traffic(a, b, matches),
        "autotune": compare_autotune(a, b),
        "resources": compare_resources(a, b, matches),
    }.items():
        own, same[part] = counted(rows)
        changes += own
    same["kernels"] = sum(match.relation == "same" for match in matches)
    changes += kernel_matching.compare_kernels(a, b, matches)
    changes += time_changes(a, b, matches)
    changes += compare_phases(a, b)
    order = {part: n for n, part in enumerate(PARTS)}
    return Diff(
        a,
        b,
        names,
        tuple(sorted(changes, key=lambda change: order[change.part])),
        matches,
        tuple((part, same[part]) for part in PARTS if part in same),
        tuple(_missing(a, b)),
    )


def compare_captured(a: Report, b: Report) -> Iterator[Change]:
    """The nodes of captured graphs that differ, without anything that became of them."""
    for pair in graph_matching.match_graphs(a, b).pairs:
        if pair.a.graph.stage == CAPTURED:
            yield from graph_matching.compare_nodes(pair)


def _structure(
    a: Report, b: Report, graphs: graph_matching.Graphs
) -> tuple[list[Change], dict[str, int]]:
    """What differs in the head and in the graphs, and how many things there do not."""
    changes = list(_one("outcome", "outcome", _ended(a), _ended(b)))
    same = {"outcome": 1 - len(changes)}
    for part in ("environment", "request"):
        left, right = (getattr(report, part) for report in (a, b))
        rows = [list(_field(part, field.name, left, right)) for field in fields(left)]
        same[part] = rows.count([])
        changes += chain.from_iterable(rows)
    stages = list(graph_matching.compare_graphs(graphs))
    same["graphs"] = len(graphs.pairs) - sum(row.change == "changed" for row in stages)
    shown = [pair for pair in graphs.pairs if pair.a.graph.stage in graph_matching.SHOWN]
    nodes = [row for pair in shown for row in graph_matching.compare_nodes(pair)]
    differ = {row.id_a for row in nodes if row.id_a and row.id_b}
    same["nodes"] = sum(len(pair.nodes) for pair in shown) - len(differ)
    return [*changes, *stages, *nodes], same


def _missing(a: Report, b: Report) -> Iterator[tuple[str, str]]:
    for part, name in _NEEDS.items():
        reasons = {
            f"in {side}: {why}"
            for side, report in (("a", a), ("b", b))
            if (why := report.why_missing(name))
        }
        if reasons:
            yield part, "; ".join(sorted(reasons))


def _ended(report: Report) -> str:
    if report.outcome.ok:
        return describe_state(report)
    return f"{describe_state(report)}: {report.outcome.error or ''}".strip()


def _field(part: str, name: str, a: Any, b: Any) -> Iterator[Change]:
    left, right = getattr(a, name), getattr(b, name)
    if left == right:
        return
    if name in _PAIRS:
        keys = dict.fromkeys([*dict(left), *dict(right)])
        for key in keys:
            yield from _one(part, f"{name}: {key}", dict(left).get(key), dict(right).get(key))
    elif name in _LISTS:
        for n, (one, other) in enumerate(zip_longest(left, right)):
            yield from _one(part, f"{name}[{n}]", one, other)
    else:
        yield from _one(part, name, _words(left), _words(right))


def _words(value: Any) -> str | None:
    if value is None or value == ():
        return None
    return "; ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _one(part: str, item: str, a: str | None, b: str | None) -> Iterator[Change]:
    if a != b:
        yield Change(part, item, name_relation(a, b), a, b)


def compute_code_digest(report: Report) -> str | None:
    """A name for the generated programs: where it is the same, the same code runs.

    None where not all of the code was generated and recorded: nothing can be said then. What
    the programs are called with, such as the number of threads, is not in it.
    """
    if not report.wrappers or not report.outcome.ok or len(report.breaks):
        return None
    parts = [repr(sorted(pair for pair in report.request.options if pair[0].startswith(_FLAGS)))]
    parts.append(report.request.target)
    if any(kernel.language == "triton" for kernel in report.kernels):
        parts.append(str(report.request.mode))  # decides about CUDA graphs
    for wrapper in report.wrappers:
        text = None if wrapper.text is None else report.texts.get(wrapper.text)
        if text is None:
            return None
        lines = (line for line in text.split("\n") if not line.startswith(_OWN_LINES))
        parts += [str(wrapper.is_backward), repr(wrapper.sizes), "\n".join(lines)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_same_code(a: Report, b: Report) -> bool:
    """Whether both are known to run the same generated code."""
    digest = compute_code_digest(a)
    return digest is not None and digest == compute_code_digest(b)


Row = TypeVar("Row")
_COUNTED = re.compile(r"(?<=')(__\w*?_|_)\d+(?:_c\d+)?(?=')")
_HOOKS = re.compile(r"(?<=___dict_contains\()\d+(?=, .*_hooks)")


def compare_breaks(a: Report, b: Report) -> Iterator[Change | None]:
    """Breaks on the same line of code (wherever it stands) for the same reason are the same."""
    for one, other in _paired(a.breaks, b.breaks, lambda r: (r.function, r.text.strip(), r.kind)):
        row = one or other
        assert row is not None
        if one and other and (one.reason, one.count) == (other.reason, other.count):
            yield None
            continue
        note = row.explanation or row.reason
        texts = _break_text(one), _break_text(other)
        ids = (one.id if one else None), (other.id if other else None)
        yield Change("breaks", row.text.strip(), name_relation(one, other), *texts, "", note, *ids)


def _break_text(row: Break | None) -> str | None:
    if row is None:
        return None
    return f"{row.file}:{row.line} {row.kind}{f', {row.count} times' if row.count > 1 else ''}"


def _uncounted(text: str) -> str:
    """A source without the numbers that a process counts: Dynamo's own globals, and hooks."""
    return _HOOKS.sub("#", _COUNTED.sub(r"\1#", text))


def compare_guards(a: Report, b: Report) -> list[Change | None]:
    """Guards of one kind on one source are the same guard; its conditions may differ.

    Where there are several, such as the guards of a log that name no source, those with equal
    conditions belong together first.
    """
    whole = _paired(a.guards, b.guards, lambda r: (*_named(r), *map(_uncounted, r.code)))
    pairs = list(whole)
    rest_a = [one for one, other in pairs if one and not other]
    rest_b = [other for one, other in pairs if other and not one]
    changes: list[Change | None] = []
    for one, other in [*filter(all, pairs), *_paired(rest_a, rest_b, _named)]:
        changes += list(_guard(one, other)) or [None]
    # guards that are kept say what the compiled code needs: those first
    return sorted(changes, key=lambda c: c is not None and c.note.startswith("not kept"))


def _named(row: Guard) -> tuple[str, str]:
    return row.kind, _uncounted(row.source)


def _guard(a: Guard | None, b: Guard | None) -> Iterator[Change]:
    row = a or b
    assert row is not None
    item = f"{row.kind} {row.source}".strip()
    ids = (a.id if a else None), (b.id if b else None)
    if a is None or b is None:
        texts = _conditions(a), _conditions(b)
        note = "" if row.kept else f"not kept: {row.why_dropped or ''}"
        yield Change("guards", item, name_relation(a, b), *texts, "", note, *ids)
        return
    if a.kept != b.kept:
        note = (a if b.kept else b).why_dropped or ""
        change = "kept" if b.kept else "dropped"
        yield Change("guards", item, change, _kept(a), _kept(b), "", note, *ids)
    if a.code != b.code:
        codes = [{_uncounted(code) for code in row.code} for row in (a, b)]
        only_a = [code for code in a.code if _uncounted(code) not in codes[1]]
        only_b = [code for code in b.code if _uncounted(code) not in codes[0]]
        note = "" if a.kept or b.kept else "not kept in either"
        if only_a or only_b:
            texts = "; ".join(only_a) or None, "; ".join(only_b) or None
            yield Change("guards", item, "changed", *texts, "", note, *ids)


def _kept(row: Guard) -> str:
    return "kept" if row.kept else "dropped"


def _conditions(row: Guard | None) -> str | None:
    return None if row is None else "; ".join(row.code) or _kept(row)


def recompile_changes(a: Report, b: Report) -> Iterator[Change | None]:
    """Compilations of a function once more, by the reason."""
    for one, other in _paired(a.recompiles, b.recompiles, lambda r: (r.function, r.reason)):
        row = one or other
        assert row is not None
        texts = (one.reason if one else None), (other.reason if other else None)
        change = Change("recompiles", row.function, name_relation(one, other), *texts)
        yield None if one and other else change


def _paired(
    a: Iterable[Row], b: Iterable[Row], key: Callable[[Row], Hashable]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows with equal keys, in the order of a; several of one key in their order."""
    groups: dict[Hashable, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((a, b)):
        for row in rows:
            groups[key(row)][side].append(row)
    for ones, others in groups.values():
        yield from zip_longest(ones, others)


_NUMBER = re.compile(r"\d+")
NOT_TRIED = "the scheduler did not try it"

NamePair = tuple[str, str]


@dataclass(frozen=True)
class _Side:
    """The pairs of kernels that stayed apart, by id, with the reason; names of kernels."""

    apart: dict[NamePair, Rejected]
    labels: Mapping[str, str]

    def reason(self, one: str, other: str) -> str | None:
        rejection = self.apart.get((one, other)) or self.apart.get((other, one))
        return None if rejection is None else rejection.reason

    def words(self, *kernels: str) -> str:
        return " and ".join(f"{id} ({self.labels[id]})" for id in kernels)


def compare_fusion(a: Report, b: Report, matches: Sequence[KernelMatch]) -> Iterator[Change | None]:
    """Verdicts that differ, kernels that were split or merged first; None where they do not."""
    left, right = _side(a), _side(b)
    for match in matches:
        yield from _in_match(match, left, right)
    pairs = [(m.a[0], m.b[0]) for m in matches if len(m.a) == len(m.b) == 1]
    to_b = dict(pairs)
    to_a = {j: i for i, j in pairs}
    for (i, k), own in left.apart.items():
        if i in to_b and k in to_b:
            yield _verdict(left, right, (i, k), (to_b[i], to_b[k]), own)
    for (j, m), own in right.apart.items():
        if j in to_a and m in to_a and left.reason(to_a[j], to_a[m]) is None:
            item = left.words(to_a[j], to_a[m])
            ids = {"id_a": f"{to_a[j]},{to_a[m]}", "id_b": f"{j},{m}"}
            yield Change("fusion", item, "added", None, own.reason, note=_STAY, **ids)


_STAY = "not fused in either; tried in only one"


def _verdict(left: _Side, right: _Side, a: NamePair, b: NamePair, own: Rejected) -> Change | None:
    """A pair that stayed apart in both: None when for the same reason."""
    now = right.reason(*b)
    ids = {"id_a": ",".join(a), "id_b": ",".join(b)}
    if now is None:
        return Change("fusion", left.words(*a), "removed", own.reason, None, note=_STAY, **ids)
    if _NUMBER.sub("#", now) == _NUMBER.sub("#", own.reason):
        return None
    return Change("fusion", left.words(*a), "reason", own.reason, now, **ids)


def _in_match(match: KernelMatch, left: _Side, right: _Side) -> Iterator[Change]:
    """Kernels of b that were one kernel in a, and the other way round."""
    if not match.a or not match.b or len(match.a) == len(match.b):
        return
    is_split = len(match.b) > len(match.a)
    side, kernels = (right, match.b) if is_split else (left, match.a)
    home = left.words(*match.a) if is_split else right.words(*match.b)
    for one, other in _neighbours(kernels, side):
        item, ids = side.words(one, other), f"{one},{other}"
        texts = f"together in {home}", side.reason(one, other) or NOT_TRIED
        if is_split:
            yield Change("fusion", item, "apart", *texts, id_a=match.ids[0], id_b=ids)
        else:
            yield Change("fusion", item, "fused", *texts[::-1], id_a=ids, id_b=match.ids[1])


def _neighbours(kernels: Sequence[str], side: _Side) -> Iterator[NamePair]:
    """Pairs with a recorded reason; of others each kernel with the next."""
    explained = [pair for pair in combinations(kernels, 2) if side.reason(*pair) is not None]
    yield from explained or pairwise(kernels)


def _side(report: Report) -> _Side:
    by_node = {
        node: kernel.id for kernel in [*report.kernels][::-1] for node in kernel.scheduler_nodes
    }
    groups = {
        (node.graph, node.name): describe_group(node, by_node)
        for node in report.scheduler_nodes
        if node.phase == "after"
    }
    apart: dict[NamePair, Rejected] = {}
    for pair in rejected(report):
        one, other = (groups.get((pair.graph, name)) for name in (pair.a, pair.b))
        if one is not None and other is not None and one != other:
            apart.setdefault((one, other), pair)
    return _Side(apart, {kernel.id: get_label(kernel) for kernel in report.kernels})


_LAST_NUMBER = re.compile(r"_\d+$")
_UNITS = {"B": "bytes", "share": "share"}
FIGURES = {
    name: _UNITS.get(measure.unit, "")
    for name, measure in {**measures(MatrixCell), **measures(Resources)}.items()
    if hasattr(Resources, name)
}
"""What is compared of two kernels on a GPU, each with its unit; counts have none."""


def compare_traffic(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> Iterator[Change | None]:
    """DRAM traffic of one call, of all kernels and of each match, by Inductor's own model."""
    left, right = kernels_of(a), kernels_of(b)
    one, other = (sum_known(map(count_moved_bytes, side.values())) for side in (left, right))
    yield _number("traffic", ALL, one, other, "bytes")
    for item, count in ((EAGER, count_eager_bytes), (UNFUSED, count_operation_bytes)):
        one, other = count(a), count(b)
        if one is not None and other is not None:  # unknown where sizes are symbolic
            yield _number("traffic", item, one, other, "bytes")
    for match in matches:
        ones, others = match.rows(left, right)
        moved_a, moved_b = moved(ones), moved(others)
        yield _number("traffic", _label(ones, others), moved_a, moved_b, "bytes", *match.ids)


def compare_resources(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> Iterator[Change | None]:
    """What pairs of kernels take of a GPU, each in its first configuration."""
    left, right = ({row.kernel: row for row in [*r.resources][::-1]} for r in (a, b))
    names = {kernel.id: get_label(kernel) for kernel in a.kernels}
    for match in matches:
        if len(match.a) != 1 or len(match.b) != 1:
            continue
        i, j = match.a[0], match.b[0]
        if i not in left or j not in right:
            continue
        for figure, unit in FIGURES.items():
            one, other = getattr(left[i], figure), getattr(right[j], figure)
            if one is not None or other is not None:
                item = f"{i} ({names[i]}): {figure}"
                yield _number("resources", item, one, other, unit, i, j)
        choices = left[i].choice, right[j].choice
        if choices[0] != choices[1]:
            item = f"{i} ({names[i]}): configuration"
            yield Change("resources", item, "changed", *choices, id_a=i, id_b=j)


def compare_autotune(a: Report, b: Report) -> Iterator[Change | None]:
    """Operations for which another choice won, or which only one of them tuned."""
    left, right = ({row.op: row for row in r.autotune if row.chosen} for r in (a, b))
    for op in dict.fromkeys([*left, *right]):
        one, other = left.get(op), right.get(op)
        if one and other and _LAST_NUMBER.sub("", one.choice) == _LAST_NUMBER.sub("", other.choice):
            yield None
            continue
        names = (one.choice if one else None), (other.choice if other else None)
        ids = (one.id if one else None), (other.id if other else None)
        yield Change("autotune", op, name_relation(one, other), *names, "", "", *ids)


def time_changes(a: Report, b: Report, matches: Sequence[KernelMatch]) -> Iterator[Change]:
    """Measured times of matched kernels, where both were profiled."""
    left, right = kernels_of(a), kernels_of(b)
    one, other = _time(left.values()), _time(right.values())
    if one is None or other is None:
        return
    yield _measured("times", ALL, one, other, "us")
    for match in matches:
        ones, others = match.rows(left, right)
        before, after = _time(ones), _time(others)
        if before is not None or after is not None:
            yield _measured("times", _label(ones, others), before, after, "us", *match.ids)


def compare_phases(a: Report, b: Report) -> list[Change]:
    """Seconds inside of each phase, without the phases in it; the longest difference first."""
    left, right = _phases(a), _phases(b)
    if not left or not right:
        return []
    changes = [
        _measured("phases", name, left.get(name), right.get(name), "s")
        for name in dict.fromkeys([*left, *right])
    ]
    changes.sort(key=lambda c: -abs(float(c.b or 0) - float(c.a or 0)))
    # threads work side by side: the phases of all of them take longer than the compilation
    one, other = (
        measure_compile_seconds((p.start_s, p.duration_s) for p in r.phases) for r in (a, b)
    )
    return [_measured("phases", WHOLE, one, other, "s"), *changes]


def _measured(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change:
    change = name_relation(a, b)
    if a is not None and b is not None:
        change = "more" if b > a else "less"
    return Change(part, item, change, a, b, unit, "", *ids)


def _number(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change | None:
    return None if a == b else _measured(part, item, a, b, unit, *ids)


def _label(ones: Sequence[Kernel], others: Sequence[Kernel]) -> str:
    words = dict.fromkeys(get_label(kernel) for kernel in ones or others)
    return f"{', '.join(k.id for k in ones or others)} ({', '.join(words)})"


def _time(kernels: Iterable[Kernel]) -> float | None:
    """µs of one call; a kernel that is called several times was measured as their sum."""
    return sum_known(kernel.time_us for kernel in kernels)


def _phases(report: Report) -> Mapping[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for phase in report.phases:
        seconds[phase.name] += phase.self_s
    return seconds

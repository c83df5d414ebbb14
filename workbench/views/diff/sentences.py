"""What matters most of a difference, in plain sentences, the most important first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workbench.analysis.diff.difference import (
    ALL,
    EAGER,
    MEASURED,
    UNFUSED,
    WHOLE,
    Change,
    Diff,
    KernelMatch,
    Value,
    get_label,
)
from workbench.analysis.diff.report_comparison import is_same_code
from workbench.analysis.fusion.why_not import SHORT
from workbench.analysis.gpu_model.matrix import COUNTED
from workbench.number_text import (
    ABSENT,
    count_text,
    format_bytes,
    format_percent,
    format_seconds,
    format_us,
    join_words,
    plural,
)
from workbench.report import Report
from workbench.report.graph_stages import name_input
from workbench.views.diff.verdict import tell_verdict
from workbench.views.words.guard_phrases import describe_checks
from workbench.views.words.record_words import name_stage, short

TITLES: Mapping[str, str] = {
    "outcome": "Outcome",
    "environment": "Environment",
    "request": "Request",
    "graphs": "Graphs",
    "nodes": "Graph nodes",
    "breaks": "Graph breaks",
    "guards": "Guards",
    "recompiles": "Recompiles",
    "fusion": "Fusion",
    "kernels": "Kernels",
    "traffic": "DRAM traffic",
    "autotune": "Tuning",
    "resources": "GPU resources",
    "times": "Measured times",
    "phases": "Compile phases",
}
CHANGES: Mapping[str, str] = {
    "added": "only in b",
    "removed": "only in a",
    "changed": "changed",
    "more": "more",
    "less": "less",
    "symbolic": "became symbolic",
    "fixed": "became fixed",
    "arguments": "written differently",
    "inputs": "other inputs",
    "kept": "kept now",
    "dropped": "dropped now",
    "split": "split",
    "merged": "merged",
    "regrouped": "regrouped",
    "fused": "fused now",
    "apart": "no longer fused",
    "reason": "other reason",
    "same": "same",
}
_INPUT = "input "


def value_text(change: Change, value: Value) -> str:
    """A value as a person reads it."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return (SHORT.get(value, value) if change.part == "fusion" else value) or '""'
    match change.unit:
        case "bytes":
            return format_bytes(value)
        case "s":
            return format_seconds(value)
        case "us":
            return format_us(value)
        case "share":
            return format_percent(value, 1)
    return count_text(value)


def name_item(change: Change) -> str:
    """What a change is of: stages and inputs of graphs as a person calls them."""
    if change.part == "graphs":
        stage, _, side = change.item.partition(" ")
        return name_stage(stage, is_backward=bool(side))
    is_input = change.part == "nodes" and change.note.startswith(_INPUT)
    return name_input(change.item) if is_input else change.item


def name_note(change: Change) -> str:
    """What is said beside a change."""
    if change.part != "nodes" or not change.note.startswith(_INPUT):
        return change.note
    name = name_input(change.note.removeprefix(_INPUT))
    return "" if name == name_item(change) else f"{_INPUT}{name}"


def format_delta(change: Change) -> str:
    """How much more or less, in percent; empty where that says nothing.

    Times of two records were not taken in turn: how far they are apart is not told.
    """
    if change.part in MEASURED:
        return ""
    a, b = change.a, change.b
    if isinstance(a, str) or isinstance(b, str) or not a or b is None or not change.unit:
        return ""
    share = (b - a) / a
    if abs(share) < 0.005:
        return ""
    return f"{'+' if share > 0 else ''}{format_percent(share)}"


def difference_text(change: Change) -> str:
    """Both values, and how far they are apart: `1.3 MB → 2.0 MB (+54 %)`."""
    delta = format_delta(change)
    words = f"{value_text(change, change.a)} → {value_text(change, change.b)}"
    return f"{words} ({delta})" if delta else words


def _tensor_text(change: Change) -> str:
    """The same; of two tensors that differ only in their shapes, the device is left out."""
    a, b = (_TENSOR.fullmatch(value_text(change, value)) for value in (change.a, change.b))
    if a is None or b is None or (a["type"], a["device"]) != (b["type"], b["device"]):
        return difference_text(change)
    return f"{a['type']} {a['shape']} → {b['shape']}"


def describe_side(report: Report) -> str:
    """What a compilation is, in short."""
    request = report.request
    mode = (request.mode,) if request.mode else ()
    return ", ".join((request.name or "compilation", request.target, *mode))


def joined(words: list[str], limit: int = 3) -> str:
    """A list as a sentence has it: `k0, k1 and 4 more`."""
    if len(words) > limit:
        return f"{', '.join(words[: limit - 1])} and {len(words) - limit + 1} more"
    return join_words(words)


_TENSOR = re.compile(r"(?P<type>(?:\w+: )?\w+) (?P<shape>\[[^\]]*\])(?P<device> on [\w:]+)?")
_COMPILE_ID = re.compile(r"^\d+/\d+: ")
_NOT_INTERLEAVED = "not measured interleaved: no verdict"
_SHOWN = 3
_LETTERS = 100
_LABEL = 32  # of a kernel
_GPU = tuple(dict.fromkeys(("spills", *COUNTED)))


class Sentence(NamedTuple):
    """A sentence, and the part that tells more."""

    text: str
    part: str

    @property
    def is_measured(self) -> bool:
        """Whether it speaks of times, which differ from run to run."""
        return self.part in MEASURED


def sentences(diff: Diff) -> tuple[Sentence, ...]:
    """Every sentence: the verdict, then what was asked and what became of it."""
    parts = (
        _outcome,
        _asked,
        _kernels,
        _sources,
        _traffic,
        _breaks,
        _nodes,
        _guards,
        _resources,
        _autotune,
        _environment,
        _times,
    )
    drafts = (sentence for part in parts for sentence in part(diff))
    shortened = tuple(s._replace(text=s.text[:-1]) if s.text.endswith("….") else s for s in drafts)
    return (Sentence(tell_verdict(diff), "outcome"), *shortened)


def _of(diff: Diff, part: str) -> list[Change]:
    return [change for change in diff.changes if change.part == part]


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1].rstrip(' .,;')} …"


def _outcome(diff: Diff) -> Iterator[Sentence]:
    for change in _of(diff, "outcome"):
        yield Sentence(
            f"a ended with {_short(str(change.a))}, b with {_short(str(change.b))}.", "outcome"
        )


def _asked(diff: Diff) -> Iterator[Sentence]:
    # in a log these are the sizes that torch left open: a consequence, not a request
    logged = ("dynamic_shapes",) if {diff.a.request.kind, diff.b.request.kind} == {"trace"} else ()
    own = [
        c
        for c in _of(diff, "request")
        if c.item not in ("name", "notes", "fusion", "again", *logged)
    ]
    words = [f"{c.item.removeprefix('options: ')} {_short(_tensor_text(c))}" for c in own]
    if words:
        yield Sentence(f"The requests differ: {joined(words, 4)}.", "request")


def _kernels(diff: Diff) -> Iterator[Sentence]:
    count_a, count_b = len(diff.a.kernels), len(diff.b.kernels)
    regrouped = [word for match in diff.kernels if (word := _regrouped(diff, match))]
    fresh = [_label(diff, match) for match in diff.kernels if match.relation == "added"]
    gone = [_label(diff, match) for match in diff.kernels if match.relation == "removed"]
    words = list(regrouped[:_SHOWN])
    if len(regrouped) > _SHOWN:
        more = len(regrouped) - _SHOWN
        words.append(f"{more} more {'was' if more == 1 else 'were'} split or merged")
    words += [f"only b has {joined(fresh)}"] if fresh else []
    words += [f"only a has {joined(gone)}"] if gone else []
    if count_a != count_b or words:
        counts = f"{plural(count_b, 'kernel')} instead of {count_a}"
        head = counts if count_a != count_b else f"{plural(count_b, 'kernel')} in both"
        yield Sentence(f"{head}{': ' if words else ''}{'; '.join(words)}.", "kernels")


def _regrouped(diff: Diff, match: KernelMatch) -> str:
    if match.relation not in ("split", "merged", "regrouped"):
        return ""
    words = f"{_label(diff, match)} became {joined(list(match.b), 4)}"
    ids = {",".join(match.a), ",".join(match.b)}
    reasons = Counter(
        value_text(c, c.b if c.change == "apart" else c.a)
        for c in _of(diff, "fusion")
        if c.change in ("apart", "fused") and (c.id_a in ids or c.id_b in ids)
    )
    if not reasons or match.relation == "regrouped":
        return f"{words} ({'; '.join(match.why)})" if match.why else words
    reason = reasons.most_common(1)[0][0]
    if match.relation == "split":
        return f"{words} ({reason})"
    return f"{words} (not fused in a: {reason})"


def _label(diff: Diff, match: KernelMatch) -> str:
    rows_a, rows_b = diff.kernel_rows
    rows = [rows_a[id] for id in match.a] or [rows_b[id] for id in match.b]
    names = dict.fromkeys(short(get_label(kernel), _LABEL) for kernel in rows)
    return f"{joined([row.id for row in rows], 4)} ({joined(list(names))})"


def _sources(diff: Diff) -> Iterator[Sentence]:
    changed = [match for match in diff.kernels if match.relation == "changed"]
    if not changed:
        return
    pairs = sum(bool(match.a and match.b) for match in diff.kernels)
    names = joined([_label(diff, match) for match in changed])
    reasons = Counter(why for match in changed for why in match.why if " of source" not in why)
    why = [
        word if count == len(changed) else f"{word} ({count} of them)"
        for word, count in reasons.most_common(_SHOWN)
    ]
    lines = sum(match.lines or 0 for match in changed)
    why += [f"{plural(lines, 'line')} of source changed"] if lines else []
    if pairs == 1:
        head = f"The one matched kernel, {names}, differs"
    else:
        count = f"All {pairs}" if len(changed) == pairs else f"{len(changed)} of {pairs}"
        verb = "differs" if len(changed) == 1 else "differ"
        head = f"{count} matched kernels {verb}, {names}"
    yield Sentence(f"{head}{': ' if why else ''}{join_words(why)}.", "kernels")


def _traffic(diff: Diff) -> Iterator[Sentence]:
    rows = _of(diff, "traffic")
    for change in rows:
        if change.item == ALL:
            worst = sorted(
                (c for c in rows if c.item not in (ALL, EAGER, UNFUSED)),
                key=lambda c: -abs(float(c.b or 0) - float(c.a or 0)),
            )
            most = ""
            if worst:
                ids, _, label = worst[0].item.rstrip(")").partition(" (")
                most = f", most of it in {ids} ({short(label, _LABEL)})"
            yield Sentence(f"DRAM traffic {difference_text(change)} (estimate){most}.", "traffic")


def _breaks(diff: Diff) -> Iterator[Sentence]:
    rows = _of(diff, "breaks")
    for change, word in (("added", "more"), ("removed", "fewer")):
        own = [row for row in rows if row.change == change]
        if own:
            places = joined([_short(row.item.rstrip(":")) for row in own])
            what = f"{len(own)} {word} graph break{'s' * (len(own) > 1)}"
            yield Sentence(f"{what}: {places}.", "breaks")
    fresh = [row for row in _of(diff, "recompiles") if row.change == "added"]
    if fresh:
        why = _short(_COMPILE_ID.sub("", str(fresh[0].b)))
        what = f"{len(fresh)} more recompilation{'s' * (len(fresh) > 1)}"
        yield Sentence(f"{what}: {why}.", "recompiles")


def _nodes(diff: Diff) -> Iterator[Sentence]:
    for stage, graphs in (("captured", "dynamo"), ("lowered", "after_post_grad")):
        ids = {graph.id for graph in diff.a.graphs if graph.stage == graphs}
        ids_b = {graph.id for graph in diff.b.graphs if graph.stage == graphs}
        rows = [
            c
            for c in _of(diff, "nodes")
            if (c.id_a or "").partition(":")[0] in ids
            or (c.id_a is None and (c.id_b or "").partition(":")[0] in ids_b)
        ]
        counts = Counter(row.change for row in rows)
        words = [
            f"{counts[name]} {label.format(be='was' if counts[name] == 1 else 'were')}"
            for name, label in _NODES.items()
            if counts[name]
        ]
        if words:
            total = sum(graph.node_count for graph in diff.a.graphs if graph.id in ids)
            head = f"In the {stage} graph ({plural(total, 'node')} in a), {joined(words, 9)}"
            named = ". ".join(_named_nodes(rows))
            only, _, others = named.partition(": ")
            if only in ("Gone", "New") and len(words) == 1:  # the count says which
                such = f": {others}"
            else:
                examples = ", ".join(_example_nodes(rows))
                such = f", for example {examples}" if examples else ""
                such += f". {named}" if named else ""
            yield Sentence(f"{head}{such}.", "nodes")


def _example_nodes(rows: list[Change]) -> Iterator[str]:
    """What changed in a few nodes: constants, sizes and types."""
    for row in [row for row in rows if row.change == "arguments"][:_SHOWN]:
        yield f"{row.item}: {_call(row.a)} → {_call(row.b)}"
    example = next((r for r in rows if r.change in ("symbolic", "fixed", "changed")), None)
    if example is not None:
        yield f"{example.item}: {_tensor_text(example)}"


def _named_nodes(rows: list[Change]) -> Iterator[str]:
    """The operators that were added and removed, or that changed places."""
    fresh = [_operator(row, row.b) for row in rows if row.change == "added"]
    gone = [_operator(row, row.a) for row in rows if row.change == "removed"]
    if fresh and Counter(fresh) == Counter(gone):
        yield f"In another order: {joined(fresh, _SHOWN)}"
        return
    for names, word in ((fresh, "New"), (gone, "Gone")):
        if names:
            yield f"{word}: {joined(names, _SHOWN)}"


def _call(text: object) -> str:
    """What a node is called with; other nodes, which have no names here, are dots."""
    return _short(str(text).replace("%", "…"))


def _operator(row: Change, looks: object) -> str:
    """An operator that came or went; of a conversion the type that it makes."""
    parts = row.note.split(".")
    is_overload = len(parts) == 3 and parts[0] != "torch"  # such as aten.sin.default
    name = parts[-2] if is_overload else parts[-1]
    if row.note.startswith("input"):
        name = name_note(row).removeprefix("input ")
        if not name or name.startswith("("):  # a remark, such as that it is a size
            name = f"{looks or name_item(row)} {name}".strip() if name else name_item(row)
    elif row.note.startswith("output"):
        name = row.item
    dtype = str(looks).partition(" ")[0]
    is_conversion = (
        name in _CONVERSIONS or "convert_element_type" in row.note or ("_to_copy" in row.note)
    )
    return f"{name} (to {dtype})" if is_conversion and dtype else name


_CONVERSIONS = {
    *("to", "type", "half", "bfloat16", "float", "double", "int", "long", "short", "bool", "byte"),
    *("type_as", "char", "cfloat", "cdouble"),
}


_NODES = {
    "symbolic": "got symbolic sizes",
    "fixed": "got fixed sizes",
    "changed": "got a different shape, layout, dtype or device",
    "arguments": "{be} written differently",
    "inputs": "got other inputs",
    "removed": "{be} removed",
    "added": "{be} added",
}


def _guards(diff: Diff) -> Iterator[Sentence]:
    rows = [row for row in _of(diff, "guards") if not row.note.startswith("not kept")]
    counts = Counter(row.change for row in rows)
    words = [f"{counts[name]} {label}" for name, label in _GUARDS.items() if counts[name]]
    if not words:
        return
    shown = min(  # conditions on sizes say most about what may be called
        rows,
        key=lambda row: (
            0 if row.item.startswith("SHAPE_ENV") else 1 + (".size()" not in f"{row.a} {row.b}")
        ),
    )
    only = {"added": shown.b, "removed": shown.a}.get(shown.change)
    what = f"{shown.item} {_short(difference_text(shown))}"
    if only is not None:
        what = _short(describe_checks(str(only).split("; ")) or f"{shown.item} {only}")
    elif shown.change == "changed":
        sides = [describe_checks(str(side or "").split("; ")) for side in (shown.a, shown.b)]
        what = _short(" → ".join(side or ABSENT for side in sides))
    yield Sentence(f"Guards: {joined(words, 9)}, for example {what}.", "guards")


_GUARDS = {
    "added": "new",
    "removed": "gone",
    "changed": "with other conditions",
    "kept": "kept now",
    "dropped": "dropped now",
}


def _resources(diff: Diff) -> Iterator[Sentence]:
    kernels: dict[str, list[tuple[int, str]]] = {}
    for row in _of(diff, "resources"):
        name, _, figure = row.item.rpartition(": ")
        if figure in _GPU:
            words = f"{figure.removesuffix('_bytes')} {difference_text(row)}"
            kernels.setdefault(name, []).append((_GPU.index(figure), words))
    if kernels:
        order = sorted(kernels.items(), key=lambda item: min(item[1]))
        figures = [
            f"{name}: {', '.join(w for _, w in sorted(own))}" for name, own in order[:_SHOWN]
        ]
        more = f"; {plural(len(order) - _SHOWN, 'kernel')} more" if len(order) > _SHOWN else ""
        yield Sentence(f"On the GPU {'; '.join(figures)}{more}.", "resources")


def _autotune(diff: Diff) -> Iterator[Sentence]:
    rows = [row for row in _of(diff, "autotune") if row.change == "changed"]
    if rows:
        first = rows[0]
        yield Sentence(
            f"Autotuning picked other configs for {plural(len(rows), 'operation')}: "
            f"{_short(first.item)} {difference_text(first)}.",
            "autotune",
        )


def _environment(diff: Diff) -> Iterator[Sentence]:
    rows = _of(diff, "environment")
    words = [f"{c.item} {_short(difference_text(c))}" for c in rows]
    if words:
        yield Sentence(f"The environments differ: {joined(words)}.", "environment")


def _times(diff: Diff) -> Iterator[Sentence]:
    """Times of two records, which were not taken in turn; none of the same generated code."""
    is_same = is_same_code(diff.a, diff.b)
    for part, item, what in (
        ("times", ALL, "Measured time of all kernels"),
        ("phases", WHOLE, "Compile time"),
    ):
        for change in _of(diff, part):
            is_seen = value_text(change, change.a) != value_text(change, change.b)
            if change.item == item and is_seen and not (is_same and part == "times"):
                words = f"{what} {difference_text(change)}, {_NOT_INTERLEAVED}"
                yield Sentence(f"{words}.", part)
    caches = _caches(diff)
    if caches and _of(diff, "phases"):
        yield Sentence(f"torch's cache hits differ: {caches}.", "phases")


def _caches(diff: Diff) -> str:
    """What torch's caches answered, where it is not the same in both."""
    before, after = (_answers(report) for report in (diff.a, diff.b))
    return joined(
        [
            f"{name} {before.get(name, 'not used')} → {after.get(name, 'not used')}"
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        ]
    )


def _answers(report: Report) -> dict[str, str]:
    """What each cache answered, in the order of the questions; once what it said of many graphs."""
    by_cache: dict[str, list[str]] = {}
    for row in report.cache:
        by_cache.setdefault(row.cache, []).append(row.outcome)
    return {name: joined([*dict.fromkeys(outcomes)]) for name, outcomes in by_cache.items()}

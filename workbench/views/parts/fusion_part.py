"""The parts `fusion:` and `pairs:`: what runs as one kernel, and what stayed apart and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.analysis.apart.apart import explain_apart
from workbench.analysis.fusion.fusion import (
    KernelTraffic,
    PlainName,
    kernel_kinds,
    list_saved_traffic,
    name_kernels,
)
from workbench.analysis.fusion.why_not import Apart, WhyNot, rejected
from workbench.number_text import format_bytes, format_percent, join_words, plural
from workbench.report import Kernel, Report
from workbench.views.panes.pane import Passes
from workbench.views.tables.columns import choose_columns
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.wire.fusion_messages import FusionPart, FusionStep, PairsPart, Rejected
from workbench.views.words.record_words import format_line_numbers, list_kernel_ops

_NOTHING = 0.005  # of the traffic of a kernel
_MOST = 3000
"""Pairs that a part holds; the frame `not_fused` has all of them."""
_NAMED = 5  # operators of a kernel that its sentence names
_IN_PAIR = 2
_TAKES = re.compile(r"reads \S+ from (.+?), and")
_BETWEEN = "another operation runs in between"
_SILENT = "no reason given"
_NOT_COMMON = "no element in common"
_OTHER_ELEMENTS = "they share data, but not the same elements in the same order"
_MISMATCH = re.compile(
    r"numel/rnumel mismatch \((?:non-)?reduce\) \(([^(),]+, [^(),]+)\), \(([^(),]+, [^(),]+)\)"
)
_PLAIN: Mapping[str, str] = {
    "another node lies between": _BETWEEN,
    "no shared data": _NOT_COMMON,
    "memory deps did not match": "they access memory in different orders",
    "the backend gives no reason": _SILENT,
}
"""Reasons as the frame `not_fused` has them, in plainer words."""
_OF_LOOPS: Mapping[str, str] = {
    _BETWEEN: "an operation in between needs the result of one and feeds the other",
}
"""Reasons that two loops of one kernel have in other words."""


def build_fusion_part(report: Report) -> FusionPart:
    """Build the part: every kernel and library call in the order of the program."""
    rows = list_saved_traffic(report)
    traffic = {row.kernel: row for row in rows if row.kernel is not None}
    names, kinds, passes = name_kernels(report), kernel_kinds(report), Passes(report)
    steps = [
        _step(report, kernel, traffic.get(kernel.id), names[kernel.id], kinds, passes)
        for kernel in report.kernels
    ]
    return {
        "kind": "fusion",
        "id": "",
        "sentence": _summarize(report, steps, [row for row in rows if row.kernel is None]),
        "steps": steps,
        "columns": [column.spec() for column in choose_columns("groups", steps)],
    }


def _step(
    report: Report,
    kernel: Kernel,
    moved: KernelTraffic | None,
    name: PlainName,
    kinds: Mapping[str, str],
    passes: Passes,
) -> FusionStep:
    before = None if moved is None else moved.bytes_before or None
    after = None if moved is None else moved.bytes_fused
    share = 1 - after / before if before and after is not None else 0.0
    why_more = None if moved is None else moved.why_more
    is_less = kernel.is_generated and share > _NOTHING
    text = describe_kernel(kernel, name)
    if is_less and before is not None and after is not None:
        text += f": saves {format_bytes(before - after)} a call"
    return {
        "id": kernel.id,
        "kernel": kernel.id,
        "side": passes.kernel(kernel),
        "kind": kinds.get(kernel.id, ""),
        "words": text,
        "places": format_line_numbers(report, kernel),
        "before": before,
        "alone": None if moved is None else moved.bytes_alone or None,
        "after": after,
        "time_us": kernel.time_us,
        "saved": shorten(share) if is_less else None,
        "unsaved": _unsaved(before, after),
        "why_more": why_more if share < 0 else None,
    }


def _unsaved(before: int | None, after: int | None) -> str:
    """Words for a row without a saving that can be told: a share of less than all means nothing."""
    if not after:
        return ""
    if before is None:
        return "unknown"
    return "moves more" if after > before * (1 + _NOTHING) else ""


def describe_kernel(kernel: Kernel, name: PlainName) -> str:
    """What a kernel does in the words of the program: `norm2` and `gelu` run as one kernel."""
    shown, more = [_word(name, word) for word in name.words[:_NAMED]], len(name.words[_NAMED:])
    words = join_words([*shown, f"{more} more"] if more else shown)
    words = words or f"`{list_kernel_ops(kernel)}`"
    is_one = len(name.words) < 2
    if kernel.is_fallback:
        return f"{words} {'falls' if is_one else 'fall'} back to eager: Inductor has no lowering"
    if kernel.is_collective:
        return f"`{list_kernel_ops(kernel)}`: a collective"
    if kernel.draws_seeds:
        return "Draws the seeds of the random numbers"
    if kernel.is_library:
        return f"{words}: a library call"
    if not name.words and name.laid:
        return f"Rearranges data of {join_words([f'`{word}`' for word in name.laid[:_NAMED]])}"
    times = f", {kernel.calls} times a call" if kernel.calls > 1 else ""
    return f"{words} {'runs' if is_one else 'run'} as one kernel{times}"


def _word(name: PlainName, word: str) -> str:
    return f"a part of `{word}`" if word in name.parts else f"`{word}`"


def _summarize(report: Report, steps: Sequence[FusionStep], others: Sequence[KernelTraffic]) -> str:
    """What fusion saves in all, in how many kernels, and what nothing is fused into.

    `others` are of no kernel: operators that eager runs and that nothing computes any more.
    """
    if not steps:
        return "No kernel was generated, so there is nothing to fuse."
    gone = sum(row.bytes_before - row.bytes_fused for row in others)
    before = sum(step["before"] or 0 for step in steps) + sum(row.bytes_before for row in others)
    after = sum(step["after"] or 0 for step in steps) + sum(row.bytes_fused for row in others)
    joined = sum((step["saved"] or 0) > 0 for step in steps)
    called = sum(not kernel.is_generated for kernel in report.kernels)
    text = "The report shows no traffic saved by fusion."
    if joined:
        text = f"Fusion saves almost none of {format_bytes(before)} a call (estimate)."
    if joined and before - after > before * _NOTHING:
        share = format_percent(before - after, before)
        saved, whole = format_bytes(before - after), format_bytes(before)
        text = (
            f"Fusion saves {saved} of {whole} a call, {share} (estimate), in {joined} of "
            f"{plural(len(steps), 'kernel')}."
        )
        if gone > before - after:
            text += (
                f" Operators that no longer need a kernel save {format_bytes(gone)}; the other "
                f"operators move {format_bytes(gone - before + after)} more than in eager."
            )
        elif gone > before * _NOTHING:
            text += f" {format_bytes(gone)} of that comes from operators that need no kernel."
    if called:
        verb = "reads and writes whole tensors" if called == 1 else "read and write whole tensors"
        text += f" {plural(called, 'library call')} {verb}: nothing is fused into "
        text += "it." if called == 1 else "them."
    return text


def build_pairs_part(report: Report) -> PairsPart:
    """Build the part: pairs that ended in different kernels, most data in common first."""
    pairs = rejected(report)
    why_not, passes, names = Apart(report), Passes(report), name_kernels(report)
    rows: list[Rejected] = []
    briefs: dict[tuple[str, str], str] = {}
    alike: dict[tuple[object, ...], Rejected] = {}
    for pair in pairs[:_MOST]:
        why = why_not(pair)
        a, b = kernels = (why.a_kernel, why.b_kernel)
        reason = _PLAIN.get(why.reason, why.reason)
        if match := _MISMATCH.match(reason):  # which rows and columns each of the two goes over
            rows_of, columns_of = match[1].split(", "), match[2].split(", ")
            sizes = [" × ".join(pair) for pair in zip(rows_of, columns_of, strict=True)]
            reason = f"their loops differ, {' and '.join(s.removesuffix(' × 1') for s in sizes)}"
        plain = _OF_LOOPS.get(reason, reason) if a == b else reason
        if pair.shared and reason == _NOT_COMMON:  # the scheduler goes by elements, not by data
            plain = _OTHER_ELEMENTS
        is_open = reason in (_BETWEEN, _SILENT) or plain == _OTHER_ELEMENTS
        if a is not None and b is not None and a != b and is_open:
            if (a, b) not in briefs:  # of every part of a kernel the answer is the same
                briefs[a, b] = explain_apart(report, a, b).brief.replace("`", "")
            plain = briefs[a, b] or plain
        own = {
            "id": f"f0:{pair.row}",
            "graph": pair.graph,
            "a": pair.a,
            "b": pair.b,
            "rounds": pair.rounds,
            "side": passes.lowered(pair.graph),
            "reason": reason,
            "told": plain,
            "shared_bytes": pair.shared,
            "why": _explain_loops(kernels, plain)
            or _put_plainly(why, reason if reason != _NOT_COMMON else plain),
            "said": f"{pair.a} with {pair.b}: {pair.reason}. {why.because}".strip(),
            "names": _name_pair(names, kernels, (pair.a, pair.b)),
            "times": 0,
        }
        row: Rejected = convert_row(Rejected, why, **own)
        rows.append(row)
        ends = frozenset(zip(kernels, row["names"].split(" with "), strict=False))
        shown = (pair.graph, row["side"], ends, plain, pair.shared)  # whichever of the two is first
        alike.setdefault(shown, row)["times"] += 1
    return {
        "kind": "pairs",
        "id": "",
        "rows": rows,
        "omitted": max(0, len(pairs) - _MOST),
        "columns": [column.spec() for column in choose_columns("rejected", rows)],
    }


def _put_plainly(why: WhyNot, reason: str) -> str:
    """The sentence without names of buffers; what stands between is named behind the reason."""
    behind = "" if reason == _BETWEEN else f": {reason}"
    sentence = why.sentence.replace(f": {why.reason}", behind, 1)
    return _TAKES.sub(r"needs the result of \1, and", sentence)


def _explain_loops(kernels: tuple[str | None, str | None], reason: str) -> str | None:
    """The sentence for two loops of one kernel; None where two kernels are apart."""
    a, b = kernels
    if a is None or a != b:
        return None
    return f"Both run in {a}, but as two separate loops: {reason}."


def _name_pair(
    names: Mapping[str, PlainName], kernels: tuple[str | None, str | None], ops: tuple[str, str]
) -> str:
    """What the two compute; of one kernel both loops together."""
    ends = [_short(names.get(kernel or ""), op) for kernel, op in zip(kernels, ops, strict=True)]
    is_one = kernels[0] is not None and kernels[0] == kernels[1]
    return f"two loops of {ends[0]}" if is_one else " with ".join(ends)


def _short(name: PlainName | None, otherwise: str) -> str:
    """Two of what a kernel computes, the scheduler's name where nothing is known of it."""
    if name is None or not (name.words or name.laid):
        return otherwise
    words = name.words or name.laid
    more = " …" if len(words) > _IN_PAIR else ""
    return f"{', '.join(words[:_IN_PAIR])}{more}"

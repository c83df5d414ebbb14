"""The kernels pane: a row for each kernel, its code, the program that calls it."""

from __future__ import annotations

import workbench.views.panes.machine_code as machine_code
from workbench.analysis.fusion.kinds import is_fallback
from workbench.report import Kernel, Report
from workbench.views.blocks import Block, Code, Column, Grid, Note, Pane, Tag
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.place_words import line_numbers, ops_of, text_of
from workbench.views.units import bytes_text, count_text, plural, seconds_text

LANGUAGES = {"triton": "Triton", "cpp": "C++"}
_NAMED = 6  # kernels with the code of another


def pane(report: Report, limits: Limits) -> Pane:
    """All kernels, then their codes, then the wrappers."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("kernels", "Kernels", (nothing,), 0)
    kernels = list(report.kernels)
    blocks: list[Block] = [_grid(report, kernels, limits), *_codes(report, kernels, limits)]
    blocks += [*_wrappers(report, limits), *machine_code.blocks(report, limits)]
    return Pane("kernels", "Kernels", (*blocks, *omitted(report, "kernels")), len(kernels))


def empty(report: Report) -> Note | None:
    """Why there is no kernel to show, or None."""
    if len(report.kernels):
        return None
    backend = report.request.backend
    text = f"The backend {backend} generates no kernels; -b inductor does."
    if backend == "inductor":
        text = "The graph needs none: its results are inputs or constants."
    if report.request.kind == "explanation":
        text = "An explanation only looks; aot_compile makes the kernels."
    return missing(report, "kernels", "No kernels.", text)


def language_of(kernel: Kernel) -> Tag:
    """The kind of kernel as a tag: generated, a library call, a fallback."""
    if kernel.language in LANGUAGES:
        return Tag(LANGUAGES[kernel.language])
    return Tag("fallback", "fallback") if is_fallback(kernel) else Tag("library call")


def _grid(report: Report, kernels: list[Kernel], limits: Limits) -> Grid:
    shown, more = cut(kernels, limits.rows, "kernels")
    is_timed = any(kernel.time_us is not None for kernel in kernels)
    rows = tuple(_row(report, kernel, is_timed) for kernel in shown)
    columns = [
        Column("Kernel", "kernel"),
        Column("Kind", "tag"),
        Column("Ops in it", "code"),
        Column("Lines", "code"),
        Column("Read", "number"),
        Column("Written", "number"),
        Column("FLOPs", "number"),
    ]
    if is_timed:
        columns.append(Column("Time", "number"))
    return Grid("Kernels", tuple(columns), rows, "kernels", more)


def _row(report: Report, kernel: Kernel, is_timed: bool) -> tuple[object, ...]:
    row: tuple[object, ...] = (
        kernel.id,
        language_of(kernel),
        ops_of(kernel) + (f" × {kernel.calls}" if kernel.calls > 1 else ""),
        line_numbers(report, kernel) or "–",
        bytes_text(kernel.bytes_read),
        bytes_text(kernel.bytes_written),
        count_text(kernel.flops),
    )
    if not is_timed:
        return row
    seconds = None if kernel.time_us is None else kernel.time_us * 1e-6
    return (*row, seconds_text(seconds))


def _codes(report: Report, kernels: list[Kernel], limits: Limits) -> list[Block]:
    same: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        if kernel.text is not None and kernel.text in report.texts:
            same.setdefault(kernel.text, []).append(kernel)
    found: list[Block] = []
    left = shown = 0
    for key, (first, *others) in same.items():
        text = report.texts[key]
        if shown >= limits.codes or not limits.text.take(text):
            left += 1 + len(others)
            continue
        shown += 1
        found.append(_code(first, text))
        if others:
            found.append(Note(f"{_named(others)}.", f"The same code as {first.id}."))
    if left:
        rest = plural(left, "more kernel")
        found.append(Note(f"{rest}.", "Their code is in report.frame('kernels')."))
    return found


def _named(kernels: list[Kernel]) -> str:
    rest = f" and {len(kernels) - _NAMED} more" if len(kernels) > _NAMED else ""
    return ", ".join(kernel.id for kernel in kernels[:_NAMED]) + rest


def _code(kernel: Kernel, text: str) -> Code:
    facts = [LANGUAGES.get(kernel.language, "library call"), plural(text.count("\n") + 1, "line")]
    if kernel.bytes_read is not None or kernel.bytes_written is not None:
        facts.append(f"reads {bytes_text(kernel.bytes_read)}")
        facts.append(f"writes {bytes_text(kernel.bytes_written)}")
    language = "cpp" if kernel.language == "cpp" else "python"
    return Code(kernel.name, text, language, tuple(facts), kernel.id)  # type: ignore[arg-type]


def _wrappers(report: Report, limits: Limits) -> list[Block]:
    found: list[Block] = []
    for wrapper in report.wrappers:
        text = text_of(report, wrapper.text)
        if text is not None and limits.text.take(text):
            title = "The program that calls them" + (", backward" if wrapper.is_backward else "")
            found.append(Code(title, text, "python", (plural(text.count("\n") + 1, "line"),)))
    return found

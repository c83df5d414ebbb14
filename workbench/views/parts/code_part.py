"""The parts that are texts: `code:ID`, `wrapper:ID` with what each line is, `bytecode:ID`."""

from __future__ import annotations

import re
from collections import defaultdict, deque

from workbench.artifacts.programs import find_kernels
from workbench.errors import UsageError
from workbench.report import KernelLine, Report, Wrapper
from workbench.views.wire.codec import convert_row
from workbench.views.wire.report_messages import BytecodePart, CodePart, WrapperPart
from workbench.views.words.record_words import text_of

_CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
_FOLDER = re.compile(r"(?m)^(# kernel path: )\S*[/\\]")  # of a cache on the machine that compiled


class Codes:
    """The sources of the kernels of a report; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._kernels = {kernel.id: kernel for kernel in report.kernels}
        self._lines: dict[str, list[KernelLine]] = defaultdict(list)
        for row in report.kernel_lines:
            self._lines[row.kernel].append(row)

    def part(self, id: str) -> CodePart:
        """Build the part; raises `UsageError` when there is no such kernel or it has no source."""
        kernel = self._kernels.get(id)
        if kernel is None:
            known = f"k0 to k{len(self._kernels) - 1}" if self._kernels else "none"
            raise UsageError(f"There is no kernel {id!r}; the report has {known}.")
        text = text_of(self._report, kernel.text)
        if text is None:
            why = "it was not kept in the report"
            if kernel.language == "extern":
                why = f"{kernel.name} is a call of a library"
            raise UsageError(f"There is no source of {id}: {why}.")
        nodes: list[list[str]] = [[] for _ in text.split("\n")]
        for row in self._lines.get(id, ()):
            if 0 < row.line <= len(nodes):
                nodes[row.line - 1] = list(row.nodes)
        return convert_row(CodePart, kernel, kind="code", text=text, nodes=nodes)


def build_bytecode_part(report: Report, id: str) -> BytecodePart:
    """Build the part; raises `UsageError` when there is no such bytecode or it has no text."""
    row = next((row for row in report.bytecode if row.id == id), None)
    if row is None:
        known = ", ".join(report.bytecode.columns.get("id", ())) or "none"
        raise UsageError(f"There is no bytecode {id!r}; the report has {known}.")
    text = text_of(report, row.text)
    if text is None:
        raise UsageError(f"The report keeps no text of the bytecode {id}.")
    source = text_of(report, row.source_text)
    note = row.why_no_source if source is None else None
    return {"kind": "bytecode", "id": id, "text": text, "source": source, "note": note}


def build_wrapper_part(report: Report, id: str) -> WrapperPart:
    """Build the part; raises `UsageError` when there is no such wrapper or it has no text."""
    wrapper = next((wrapper for wrapper in report.wrappers if wrapper.id == id), None)
    if wrapper is None:
        known = ", ".join(report.wrappers.columns.get("id", ())) or "none"
        raise UsageError(f"There is no wrapper {id!r}; the report has {known}.")
    text = text_of(report, wrapper.text)
    if text is None:
        raise UsageError(f"The text of {id} was not kept in the report.")
    text = _FOLDER.sub(r"\1", text)
    kernels = _kernels_of_lines(report, wrapper, text)
    return {"kind": "wrapper", "id": id, "text": text, "kernels": kernels}


def _kernels_of_lines(report: Report, wrapper: Wrapper, text: str) -> list[str | None]:
    """The kernel that each line defines or calls; library calls of one name in their order."""
    named: dict[str, deque[str]] = defaultdict(deque)
    for kernel in report.kernels:
        if kernel.graph == wrapper.graph:
            named[kernel.name].append(kernel.id)
    owners = {  # the kernel whose source a line belongs to
        line: named[kernel.name][0]
        for kernel in find_kernels(text)
        if kernel.name in named
        for line in kernel.lines
    }
    lines = enumerate(text.split("\n"), 1)
    return [owners[n] if n in owners else _called(line, named) for n, line in lines]


def _called(line: str, named: dict[str, deque[str]]) -> str | None:
    if line.lstrip().startswith("#"):
        return None
    for match in _CALLED.finditer(line):
        ids = named.get(match[1]) or named.get(match[1].removesuffix(".run"))
        if ids:
            return ids.popleft() if len(ids) > 1 else ids[0]
    return None

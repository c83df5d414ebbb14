"""An `ArtifactReport` in a few lines of text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.artifacts.inspect.rows import (
    LEVELS,
    NOT_HASHED,
    ConstantFacts,
    ValueFacts,
)
from workbench.number_text import number_text, plural

if TYPE_CHECKING:
    from workbench.artifacts.inspect.report import ArtifactReport

_SHOWN = 8
TITLES = {
    "artifact": "artifact of this workbench",
    "package": "package of this workbench",
    "torch": "file of torch's save_compiled_function",
    "torch package": "AOTInductor package of torch",
    "exported program": "exported program of torch",
    "library": "shared library",
}


def summary(report: ArtifactReport) -> str:
    """What matters most, a line or a few for each part."""
    size = number_text(report.size, "bytes")
    head = f"{os.path.basename(report.path)}: {TITLES[report.kind]}, {size}"
    digest = report.digest or "not computed for so big a file: wb.inspect(path, verify=True)"
    lines = [f"ArtifactReport({head}, {report.signature})", _line("digest", digest)]
    lines += _models(report)
    lines += _listed("inputs", [_value(row) for row in report.inputs])
    lines += _listed("outputs", [_value(row) for row in report.outputs])
    lines += _constants(report.constants)
    lines += [_line("" if n else "needs", line) for n, line in enumerate(_needs(report))]
    if report.guards:
        kept = sum(row.kept for row in report.guards)
        lines.append(_line("guards", f"{kept} kept, {len(report.guards) - kept} dropped"))
    frozen = {f"{row.name}: {row.frozen}": None for row in report.guards if row.frozen}
    lines += _listed("frozen", [*frozen], "guards")
    # of what is imported its place: its name in the file is torch's own and long
    places = {"module", "import"}
    outside = (
        (row.kind, row.found_at if row.kind in places else row.name) for row in report.outside
    )
    lines += _listed("outside", [" ".join(words) for words in outside])
    lines += _code(report)
    lines += _imports(report)
    lines += _members(report)
    lines += [_line("note", note) for note in report.notes]
    lines += [f"  DAMAGED  {name}" for name in report.damaged]
    return "\n".join(lines)


def _line(name: str, words: str) -> str:
    return f"  {name:<9} {words}"


def _listed(name: str, words: Sequence[str], table: str = "") -> Iterator[str]:
    for number, text in enumerate(words[:_SHOWN]):
        yield _line("" if number else name, text)
    if len(words) > _SHOWN:
        yield _line("", f"… and {len(words) - _SHOWN} more: .frame({(table or name)!r})")


def _models(report: ArtifactReport) -> Iterator[str]:
    words = []
    for row in report.models:
        target = f"for {row.target}" if row.target else ""
        proxy = "needs the proxy executor" if row.needs_proxy else ""
        shown = ", ".join(filter(None, (row.device, target, row.bucket, proxy)))
        words.append(f"{row.name} ({shown})" if shown else row.name)
    yield from _listed("models", words)


def _value(row: ValueFacts) -> str:
    return " ".join(part for part in (row.name, f"{row.dtype}{row.shape}", row.device) if part)


def _constants(rows: Sequence[ConstantFacts]) -> Iterator[str]:
    if rows:
        total = number_text(sum(row.size or 0 for row in rows), "bytes")
        places = {row.place.split(" at ")[0] for row in rows} - {""}
        where = f", {'; '.join(sorted(places))}" if 0 < len(places) < 3 else ""
        yield _line("constants", f"{len(rows)}, {total}{where}")


def _needs(report: ArtifactReport) -> Iterator[str]:
    words = [f"{row.name} {row.needed}" for row in report.needs if row.name != "bytecode"]
    line = ""
    for word in words:
        if line and len(line) + len(word) > 84:
            yield f"{line},"
            line = ""
        line = f"{line}, {word}" if line else word
    if line:
        yield line


def _code(report: ArtifactReport) -> Iterator[str]:
    if report.texts:
        total = number_text(sum(text.size for text in report.texts), "bytes")
        yield _line("sources", f"{len(report.texts)}, {total}: .source(name)")
    if report.kernels:
        names = {row.name for row in report.kernels}
        words = f"{len(names)} for the GPU in {plural(len(report.kernels), 'configuration')}"
        yield _line("kernels", words)
    if report.libraries:
        machines = ", ".join(sorted({row.machine for row in report.libraries if row.machine}))
        exports = sum(row.exports for row in report.libraries)
        given = f"{len(report.libraries)} for {machines}, {plural(exports, 'symbol')} given"
        yield _line("libraries", given)
    for row in report.libraries:
        if row.problem:
            yield _line("", f"{row.member}: {row.problem}")


def _imports(report: ArtifactReport) -> Iterator[str]:
    if not report.pickles:
        return
    count, unusual = len(report.imports), report.unusual
    yield _line("imports", f"{count} names, {len(unusual)} beyond torch's own")
    worst = {row.name: row.level for row in reversed(report.names) if row.level != LEVELS[2]}
    ordered = sorted(worst, key=lambda name: (LEVELS.index(worst[name]), name))
    for name in ordered[:_SHOWN]:
        yield f"    {name}" + (" — RUNS COMMANDS" if worst[name] == LEVELS[0] else "")
    if len(unusual) > _SHOWN:
        yield f"    … and {len(unusual) - _SHOWN} more: see .unusual"
    yield from (f"    {row.name}: {row.problem}" for row in report.pickled if row.problem)


def _members(report: ArtifactReport) -> Iterator[str]:
    if not report.members:
        return
    left = [member for member in report.members if member.state == NOT_HASHED]
    words = f"{len(report.members)}"
    if left:
        total = number_text(sum(member.size for member in left), "bytes")
        words += f", {len(left)} not hashed ({total}): wb.inspect(path, verify=True)"
    yield _line("members", words)

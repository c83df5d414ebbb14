"""Which parts of a program become CUDA graphs, in words."""

from __future__ import annotations

from collections import Counter, defaultdict

from workbench.report import Report
from workbench.report.machine_rows import CudaGraphPart
from workbench.views.wire.report_messages import Note
from workbench.views.words.units import plural

FIRST_PART = "c0"
_REMEDIES = (  # a piece of torch's reason, what to do about it
    ("on a GPU", "Only a GPU replays CUDA graphs: what runs on the CPU is never recorded."),
    ("cpu device", "Only a GPU replays CUDA graphs: what runs on the CPU is never recorded."),
    ("cpu ops", "Keep the data on the GPU until the end of the call."),
    ("DeviceCopy ops", "Keep the data on the GPU until the end of the call."),
    ("unbacked binding ops", "A size depends on the data: `torch.where` keeps the sizes fixed."),
    ("Conditional ops", "Compute both sides and choose with `torch.where`."),
    ("CUDAGraph-unsafe custom ops", "An operator is marked unsafe to record; is the mark needed?"),
    ("mutated inputs", "Make it a buffer of a module, or return the new value."),
    ("each combination of sizes", "Use a few fixed sizes and pad to them."),
)


def find_remedy(reason: str | None) -> str | None:
    """What would help, where one is known."""
    return next((text for words, text in _REMEDIES if words in (reason or "")), None)


def headline(report: Report) -> str | None:
    """How much is recorded, in a few words; None where no CUDA graphs were asked for."""
    parts = len(report.cuda_graphs)
    if not parts:
        return None
    counts = Counter(part.verdict for part in report.cuda_graphs)
    recorded = counts["recorded"]
    if recorded == parts:
        return "the whole program is recorded" if parts == 1 else f"all {parts} parts are recorded"
    if recorded:
        return f"{recorded} of {parts} parts {'is' if recorded == 1 else 'are'} recorded"
    return "torch decides at every call" if counts["depends"] else "nothing is recorded"


def reasons(report: Report) -> list[str]:
    """Why parts are not recorded for certain: `skipped, 2 parts: cpu ops`."""
    counts = Counter(
        (part.verdict, part.reason.removeprefix("skipping cudagraphs due to "))
        for part in report.cuda_graphs
        if part.verdict != "recorded" and part.reason
    )
    return [
        f"{verdict}, {plural(count, 'part')}: {reason}"
        for (verdict, reason), count in counts.items()
    ]


def cuts(report: Report) -> dict[tuple[str, int], dict[str, CudaGraphPart]]:
    """By file and line: where a program is cut between recordings, by the title of a note."""
    files = {source.id: source.file for source in report.sources}
    taken = {part.graph for part in report.cuda_graphs if part.verdict != "skipped"}
    found: dict[tuple[str, int], dict[str, CudaGraphPart]] = defaultdict(dict)
    for part in report.cuda_graphs:
        if part.verdict == "skipped" and part.graph in taken and part.lines and part.reason:
            _, source, number = part.lines[0].split(":")
            place = files.get(source, ""), int(number)
            found[place].setdefault(f"Not in a CUDA graph: {part.reason}.", part)
    return dict(found)


def remark(report: Report) -> list[Note]:
    """What becomes of the parts as a message of the overview; none without CUDA graphs."""
    said = headline(report)
    if said is None:
        return []
    why = reasons(report)
    text = f"{'; '.join(why)}." if why else "That is done when it first runs."
    return [
        {
            "title": f"CUDA graphs: {said}.",
            "text": text[:1].upper() + text[1:],
            "tone": "fallback" if why else "plain",
            "select": FIRST_PART,
        }
    ]


def name_of(part: CudaGraphPart, parts: list[CudaGraphPart]) -> str:
    """The number of a part, with its graph where there are several."""
    several = len({each.graph for each in parts}) > 1
    return f"{part.graph} {part.part}" if several else str(part.part)

"""Tries the cures of every graph break on copies: captures again and compares what they give."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.rehearsal.candidates import Candidate, first_candidates, last_candidates
from workbench.analysis.rehearsal.rehearsal import (
    Cure,
    Part,
    Rehearsal,
    Together,
    Verdict,
    holds,
)
from workbench.compiler.contract.callables import resolve, uncompiled
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.internals.patches import without_torch_warnings
from workbench.compiler.measuring.call_leaves import copies, held_inputs, restored
from workbench.compiler.pipeline.explain import Explanation, explain
from workbench.errors import UsageError
from workbench.handles.recipe import Call
from workbench.handles.rewriting import rewritten
from workbench.handles.trying import compared

_NONE_WORKS = "No cure works, so that there is nothing to put together."


@dataclass(frozen=True)
class _Outcome:
    """What a changed copy is, once it was captured; without counts it could not be."""

    graphs: int | None
    breaks: int | None
    agrees: bool | None
    checked: str
    kinds: tuple[str, ...] = ()  # of its breaks


def rehearse(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Rehearsal:
    """See `workbench.rehearse`."""
    resolve(fn)  # refuses what is no function of Python
    target = fn
    while (inner := uncompiled(target)) is not None:
        target = inner
    name = getattr(target, "__qualname__", type(target).__name__)
    stage = _Stage(target, tuple(args), dict(kwargs))
    before = stage.explained(target)
    parts = _parts(before)
    cures: list[Cure] = []
    for item in before.breaks:
        tried = [_cure(stage, before, each) for each in first_candidates(before.report, item)]
        if not any(cure.verdict == "works" for cure in tried):
            last = last_candidates(before.report, item)
            tried += [_cure(stage, before, each) for each in last]
        cures += tried
    together = _together(stage, parts, cures)
    return Rehearsal(
        name.replace(".<locals>", ""),
        before.graph_count,
        len(before.breaks),
        tuple(cures),
        together,
        parts,
    )


def _parts(explanation: Explanation) -> tuple[Part, ...]:
    """The functions that hold a break."""
    report = explanation.report
    files = {item.file for item in explanation.breaks}
    return tuple(
        Part(source.file, source.first_line, report.texts[source.text])
        for source in report.sources
        if source.file in files and source.text is not None
    )


@dataclass(frozen=True)
class _Told:
    """A callable that also gives what a call left of its inputs and of a module's buffers.

    With `options` it is captured, under these options of Dynamo, and the graphs run as they are.
    """

    original: Any
    options: Mapping[str, bool] | None = None

    @property
    def module(self) -> torch.nn.Module | None:
        return self.original if isinstance(self.original, torch.nn.Module) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _silently():
            given = self._run(*args, **kwargs)
        buffers = {} if self.module is None else dict(self.module.named_buffers())
        kept = {name: buffer.detach().clone() for name, buffer in buffers.items()}
        return {"output": given, "inputs": (args, kwargs), "buffers": kept}

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if self.options is None:
            return self.original(*args, **kwargs)
        random = torch.random.get_rng_state()
        with preserved(), tp.DYNAMO_CONFIG.get().patch(dict(self.options)):
            torch.random.set_rng_state(random)  # Dynamo is to draw what eager would
            compiled: Any = torch.compile(self.original, backend="eager")
            return compiled(*args, **kwargs)


@dataclass(frozen=True)
class _Stage:
    """The call that is rehearsed; every run gets copies of the inputs."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def explained(self, target: Any, options: Mapping[str, bool] | None = None) -> Explanation:
        """The breaks of a callable; raises what it raises."""
        held = held_inputs(target, self.args, self.kwargs)
        module = target if isinstance(target, torch.nn.Module) else None
        given, named = copies(self.args, self.kwargs, held)
        config = tp.DYNAMO_CONFIG.get()
        with _silently(), restored(module, held=held), config.patch(dict(options or {})):
            return explain(target, given, named, marks_first=False)

    def outcome(
        self, changes: Iterable[Opportunity] = (), options: Mapping[str, bool] | None = None
    ) -> _Outcome:
        """Capture a copy with the changes, and compare what it gives with the original's."""
        config = tp.DYNAMO_CONFIG.get()
        if missing := [name for name in options or {} if not hasattr(config, name)]:
            words = f"torch {torch.__version__} has no option {', '.join(missing)}."
            return _Outcome(None, None, None, f"Not tried: {words}")
        made = self.target
        try:
            for change in changes:
                made = rewritten(made, change)
        except UsageError as error:
            return _Outcome(None, None, None, f"Not tried: {error}")
        try:
            found = self.explained(made, options)
            call = Call(made, self.args, self.kwargs, CompileOptions())
            old, new = _Told(self.target), _Told(made, options or {})
            agrees, checked = compared(old, new, (self.args, self.kwargs), call, False)
        except Exception as error:  # that the copy fails is the answer
            words = str(error).partition("\n")[0]
            return _Outcome(None, None, False, f"The copy fails: {type(error).__name__}: {words}")
        kinds = tuple(item.kind for item in found.breaks)
        return _Outcome(found.graph_count, len(found.breaks), agrees, checked, kinds)


@contextlib.contextmanager
def _silently() -> Iterator[None]:
    """Without what the function prints, and without torch's warnings."""
    nowhere = io.StringIO()
    silent = contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere)
    with silent[0], silent[1], without_torch_warnings():
        yield


def _cure(stage: _Stage, before: Explanation, candidate: Candidate) -> Cure:
    rewrite = candidate.rewrite
    options = {} if candidate.option is None else {candidate.option: True}
    lines = () if rewrite is None else rewrite.before
    new = () if rewrite is None else rewrite.after
    first = None if rewrite is None else rewrite.first_line
    item = candidate.item
    changes = [] if first is None else [_change(item.file, first, lines, new)]
    found = stage.outcome(changes, options)
    return Cure(
        break_id=item.id,
        kind=candidate.kind,
        title=candidate.title,
        why=candidate.why,
        verdict=_verdict(before, candidate, found),
        graphs_before=before.graph_count,
        graphs_after=found.graphs,
        breaks_before=len(before.breaks),
        breaks_after=found.breaks,
        agrees=found.agrees,
        checked=found.checked,
        file=item.file,
        line=item.line,
        first_line=first,
        before=lines,
        after=new,
        option=candidate.option,
    )


def _change(file: str, line: int, before: tuple[str, ...], after: tuple[str, ...]) -> Opportunity:
    return Opportunity(
        id="",
        rule="rehearsal",
        kind="rewrite",
        text="",
        sure="likely",
        source="",
        file=file,
        line=line,
        before=before,
        after=after,
    )


def _verdict(before: Explanation, candidate: Candidate, found: _Outcome) -> Verdict:
    if found.agrees is False:
        return "refused"
    if found.graphs is None or found.breaks is None:
        return "not checked"
    if candidate.kind == "explicit":
        is_meant = any("torch.compiler.disable" in kind for kind in found.kinds)
        return "meant" if is_meant and found.agrees else "no effect"
    if found.breaks >= len(before.breaks) and found.graphs >= before.graph_count:
        return "no effect"
    return "works" if found.agrees else "not checked"


def _together(stage: _Stage, parts: Sequence[Part], cures: Sequence[Cure]) -> Together:
    """The first cure of each break that works, in one copy."""
    chosen: dict[str, Cure] = {}
    for cure in cures:
        if cure.verdict == "works":
            chosen.setdefault(cure.break_id, cure)
    if not chosen:
        return Together(None, None, None, _NONE_WORKS)
    if len(chosen) == 1:
        (one,) = chosen.values()
        return Together(one.graphs_after, one.breaks_after, one.agrees, one.checked, (one,))
    changes: list[Opportunity] = []
    kept, left = [cure for cure in chosen.values() if cure.option is not None], []
    for part in reversed(parts):  # what is called before its caller, whose copy calls the copy
        held = sorted(
            (cure for cure in chosen.values() if holds(part, cure)),
            key=lambda cure: cure.first_line or 0,
        )
        apart = [cure for n, cure in enumerate(held) if not _overlaps(held[:n], cure)]
        left += [f"{cure.title} (line {cure.line})" for cure in held if cure not in apart]
        if apart:
            changes.append(_merged(part, apart))
            kept += apart
    options = {cure.option: True for cure in kept if cure.option is not None}
    found = stage.outcome(changes, options)
    checked = found.checked
    if left:
        checked += f" Left out, since it changes the same lines: {'; '.join(left)}."
    done = tuple(kept) if found.agrees else ()
    return Together(found.graphs, found.breaks, found.agrees, checked, done, tuple(left))


def _overlaps(earlier: Sequence[Cure], cure: Cure) -> bool:
    start = cure.first_line or 0
    return any((other.first_line or 0) + len(other.before) > start for other in earlier)


def _merged(part: Part, cures: Sequence[Cure]) -> Opportunity:
    """One change of the lines from the first cure to the last, which do not overlap."""
    lines = part.text.split("\n")

    def between(first: int, last: int) -> tuple[str, ...]:
        return tuple(lines[first - part.first_line : last - part.first_line])

    ends = [(cure.first_line or 0) + len(cure.before) for cure in cures]
    start = cures[0].first_line or 0
    after = list(cures[0].after)
    for (_, second), end in zip(pairwise(cures), ends, strict=False):
        after += [*between(end, second.first_line or 0), *second.after]
    return _change(part.file, start, between(start, ends[-1]), tuple(after))

"""What to change in a program, by what its session costs: a sentence each, the costliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from workbench.number_text import number_text, plural
from workbench.report.session.record import Session
from workbench.report.session.rows import Compile, Fallback, SessionBreak, SessionRecompile, Step

_CURES: Mapping[str, str] = {
    "size": "mark the dimension with torch._dynamo.mark_dynamic, compile with dynamic=True, or pad "
    "to few sizes",
    "length": "pass the same arguments and as many entries in every call, or compile a function "
    "for each kind of call, such as prefill and decoding",
    "value": "pass it as a tensor, or keep it out of the compiled function",
    "type": "pass it with one type and one dtype in every call, or compile a function for each",
    "grad mode": "call it in one grad mode and with inputs that all need gradients or none, or "
    "compile a function for each",
    "identity": "keep one object for all calls: what is defined anew, such as a function of a cell "
    "that is run again, is compiled again",
    "global state": "set it once, before the first call",
    "other": "see the guard",
}


_OWN_CALL = "Call to `torch._dynamo.graph_break()`"


@dataclass(frozen=True)
class Advice:
    """One thing to change: what happens where, its cost in seconds and steps, the cure.

    `steps` are those that were slower for it.
    """

    kind: str
    function: str
    file: str
    line: int
    cost_s: float
    steps: tuple[int, ...]
    text: str
    cure: str

    @property
    def sentence(self) -> str:
        """Place, cost and cure in one line."""
        where = f" ({place(self.file, self.line)})" if self.file else ""
        return f"{self.text}{where}: {self.cure}."


def place(file: str, line: int) -> str:
    """A line as `train.py:12`."""
    return f"{PurePath(file).name}:{line}"


def advice(session: Session) -> list[Advice]:
    """Frames that run eagerly first, since they cost as long as the program runs; then by time."""
    tables = session.tables
    compiles: list[Compile] = list(tables["compiles"])
    found = [
        *_of_fallbacks(list(tables["fallbacks"])),
        *sorted(
            [*_of_recompiles(compiles, tables), *_of_breaks(tables, compiles)],
            key=lambda one: -one.cost_s,
        ),
    ]
    return found


def _of_fallbacks(rows: list[Fallback]) -> Iterator[Advice]:
    for row in rows:
        since = f"since step {row.step}"
        if row.how == "always":
            text = f"{row.function} runs eagerly {since}: {row.why.rstrip('.')}"
            cure = "mend what ends its capture, and it is compiled again"
        else:
            calls = (
                "" if row.eager_calls is None else f", {plural(row.eager_calls, 'call')} until now"
            )
            text = f"{row.function} runs eagerly {since} where no variant fits{calls}: {row.why}"
            cure = (
                "let it need fewer variants, or raise torch._dynamo.config.recompile_limit, which "
                "costs a compile each"
            )
        yield Advice("fallback", row.function, row.file, row.line, 0.0, (row.step,), text, cure)


def _of_recompiles(compiles: list[Compile], tables: Mapping[str, Any]) -> Iterator[Advice]:
    """The recompiles of one function by one kind of guard together."""
    nearest: dict[tuple[str, str], list[SessionRecompile]] = {}
    for row in tables["recompiles"]:
        if row.nearest:
            nearest.setdefault((row.function, row.kind), []).append(row)
    for (function, kind), rows in nearest.items():
        own = next((one for one in compiles if one.id == rows[-1].compile_id), None)
        spent = sum(row.cost_s for row in rows)
        steps = tuple(dict.fromkeys(row.step for row in rows))
        text = (
            f"{function} was compiled {plural(len(rows), 'more time')}, "
            f"{number_text(spent, 'seconds')} in {_steps(steps)}, last since {_since(rows[-1])}"
        )
        cure = _CURES.get(kind, _CURES["other"])
        file, line = (own.file, own.line) if own else ("", 0)  # a file that was cut short
        yield Advice("recompile", function, file, line, spent, steps, text, cure)


def _since(row: SessionRecompile) -> str:
    """The guard that failed, in words where its parts are known."""
    if row.expected and row.actual:
        return f"{row.source} was {row.actual}, not {row.expected}"
    if row.kind == "length" and row.source and row.expected:
        return f"{row.source} was not {row.expected}"
    if row.kind == "identity" and row.source:
        return f"{row.source} was another object"
    if row.guard.startswith("GLOBAL_STATE"):
        changed = row.guard.rpartition(": ")[2].removeprefix("GLOBAL_STATE ").replace("_", " ")
        return f"the {changed} was another"
    return f"`{row.guard}` did not hold"


def _of_breaks(tables: Mapping[str, Any], compiles: list[Compile]) -> Iterator[Advice]:
    given_up = {row.compile_id for row in tables["fallbacks"] if row.how == "always"}
    rows: list[SessionBreak] = list(tables["breaks"])
    for row in rows:
        if row.kind == _OWN_CALL and _is_of_torch(row.file):  # meant, as in torch.optim
            continue
        own = [one.step for one in compiles if one.id in row.compile_ids]
        spent = f", {number_text(row.cost_s, 'seconds')} of compiling" if row.cost_s else ""
        at = f" at `{row.text}`" if row.text else ""  # of code without a file
        cut = "not compiled" if given_up.intersection(row.compile_ids) else "cut in two"
        text = f"{row.function} is {cut}{at}{spent}: {row.kind}"
        hint = row.hints[0].rstrip(".") if row.hints else "see the break in its report"
        steps = tuple(dict.fromkeys(own))
        yield Advice("break", row.function, row.file, row.line, row.cost_s, steps, text, hint)


def _is_of_torch(file: str) -> bool:
    return "site-packages/torch/" in file.replace("\\", "/")


def _steps(steps: tuple[int, ...]) -> str:
    """Steps in words: `step 3`, `steps 0, 4, 7`, `12 steps`."""
    if len(steps) > 4:
        return plural(len(steps), "step")
    return f"step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def why_slow(session: Session, number: int) -> str:
    """Why a step took longer than the median step, in a sentence; empty where it did not."""
    return slow_reasons(session, [number]).get(number, "")


def slow_reasons(session: Session, numbers: Iterable[int]) -> dict[int, str]:
    """By step, a sentence for those that took longer than the median step."""
    rows, events = session.tables["steps"], session.tables["events"]
    if not len(rows):
        return {}
    usual = sorted(rows.columns["wall_ms"])[len(rows) // 2]
    places = {step: at for at, step in enumerate(rows.columns["step"])}
    found: list[Step] = [rows[places[number]] for number in numbers if number in places]
    slow = [step for step in found if step.wall_ms >= 1.5 * usual or step.compile_s]
    parts: dict[int, list[tuple[float, str]]] = {step.step: [] for step in slow}
    of_slow = (events[at] for at, step in enumerate(events.columns["step"]) if step in parts)
    for event in of_slow:
        if event.kind in ("compile", "recompile") and event.cost_s:
            cost = number_text(event.cost_s, "seconds")
            words = event.text if event.kind == "recompile" else "compiled"
            parts[event.step].append((event.cost_s, f"{event.function} {cost} ({words})"))
    return {step.step: _why_slow(step, parts[step.step]) for step in slow}


def _why_slow(step: Step, parts: list[tuple[float, str]]) -> str:
    parts.sort(reverse=True)
    shown = "; ".join(text for _, text in parts[:3])
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    took = f"Step {step.step} took {number_text(step.wall_ms / 1e3, 'seconds')}"
    if not parts:
        return f"{took}, {number_text(step.outside_ms / 1e3, 'seconds')} of it outside of graphs."
    compiling = number_text(step.compile_s, "seconds")
    return f"{took}, {compiling} of it compiling: {shown}{more}."

"""What the interpreter found, said in sentences, with places as a report has them."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.compiler.interpreter.watched.watched_call import AccessLog, Fault, Held, Place
from workbench.compiler.sources.sources import Places
from workbench.number_text import plural
from workbench.report.machine_rows import KernelFinding

_DOES = {"read": "reads", "write": "writes", "atomic": "updates"}
_NOWHERE = Place("", 0)


class FaultWords:
    """Words for the faults of one run of a kernel; `case` is what differs from the given call."""

    def __init__(self, kernel: str, log: AccessLog, places: Places, case: str = ""):
        self._kernel, self._log, self._places, self._case = kernel, log, places, case

    def describe(self, fault: Fault) -> KernelFinding:
        """The row of a fault."""
        held = next(
            argument for argument in self._log.arguments if fault.argument in argument.names
        )
        index = held.index_of(fault.offset) if held.shape else ()
        return self.make_row(
            fault.kind,
            self._say(fault, held, index),
            self.find_place(fault.place),
            argument=fault.argument,
            index=index,
            shape=held.shape,
            program=self.cut_program(fault.program),
            lane=fault.lane,
            other_line=self.find_place(fault.other_place).line or None,
            other_program=self.cut_program(fault.other_program),
            other_lane=fault.other_lane,
            count=fault.count,
            programs=fault.programs,
        )

    def make_row(self, kind: str, text: str, place: Place, **more: object) -> KernelFinding:
        """A row of this run; the sentence says in which case, where it is none that was given."""
        where = f" (with {self._case})" if self._case else ""
        file = self._places.shown(place.file) if place.file else None
        return KernelFinding(
            self._kernel,
            kind,
            f"{text}{where}.",
            file,
            place.line or None,
            place.column or None,
            case=self._case,
            **more,  # type: ignore[arg-type]
        )

    def find_place(self, number: int) -> Place:
        """A place of the log by its number."""
        return self._log.places[number] if number >= 0 else _NOWHERE

    def name_element(self, held: Held, index: Sequence[int], name: str = "") -> str:
        """An element as in the code: `x[1000]`, `w[3, 5]`."""
        inner = ", ".join(map(str, index))
        return f"{name or held.name}[{inner}]" if index else name or held.name

    def name_program(self, number: int) -> str:
        """A program by its place on the axes of the grid that have several."""
        place = self.cut_program(number)
        return f"program {place[0]}" if len(place) == 1 else f"program {place}"

    def cut_program(self, number: int) -> tuple[int, ...]:
        """The coordinates of a program, without the last axes of a grid that has none there."""
        if number < 0:
            return ()
        used = max((n + 1 for n, size in enumerate(self._log.grid) if size > 1), default=1)
        return self._log.find_program(number)[:used]

    def _say(self, fault: Fault, held: Held, index: tuple[int, ...]) -> str:
        element, does = self.name_element(held, index), _DOES[fault.does]
        line, other = self.find_place(fault.place).line, self.find_place(fault.other_place).line
        who, them = self.name_program(fault.program), self.name_program(fault.other_program)
        lane = f"lane {_name_lane(fault.lane)} of {who}" if fault.lane else who
        several = f", {plural(fault.count, 'element')} in all" if fault.count > 1 else ""
        if fault.kind == "out of bounds":
            size = held.shape[0] if len(held.shape) == 1 else list(held.shape)
            return (
                f"Out of bounds: line {line} {does} {element} of {size if held.shape else 1}, in "
                f"{lane}{several}"
            )
        if fault.kind == "uninitialised":
            return (
                f"Uninitialised: line {line} {does} {element} before anything was written to it, "
                f"in {who}{several}"
            )
        if fault.kind == "lanes disagree":
            return (
                f"Lanes disagree: line {line} writes two values to {element}, from lanes "
                f"{_name_lane(fault.lane)} and {_name_lane(fault.other_lane)} of {who}{several}"
            )
        if fault.other_program == fault.program:  # two lanes of it
            verbs = ("writes", "read") if fault.does == "write" else ("reads", "wrote")
            sentence = (
                f"line {line} {verbs[0]} {element} in lane {_name_lane(fault.lane)}, which lane "
                f"{_name_lane(fault.other_lane)} of the same program {verbs[1]} in line {other}, "
                "without tl.debug_barrier() in between"
            )
            if fault.kind == "not judged":
                return f"Not judged: {sentence}; {fault.text}{several}"
            return (
                f"No barrier: {sentence}. This is harmless only if a single thread holds both "
                f"lanes{several}"
            )
        if fault.does != "write":
            sentence = f"line {line} {does} {element} in {who}, which {them} writes in line {other}"
        elif line == other:
            what = "the same value" if fault.kind == "race, same value" else "different values"
            sentence = f"line {line} writes {what} to {element} in {who} and in {them}"
        else:
            sentence = f"{who} writes {element} in line {line}, and {them} in line {other}"
        if fault.kind == "not judged":
            return f"Not judged: {sentence}; {fault.text}{several}"
        return f"{fault.kind.capitalize()}: {sentence}{several}"


def _name_lane(lane: tuple[int, ...]) -> str:
    return str(lane[0]) if len(lane) == 1 else str(lane or 0)

"""The round trip itself: each way in a process of its own, compared with eager, summed up."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import Forms
from workbench.compiler.call_state.random_states import TORCH_RANDOM, difference
from workbench.compiler.comparison.judgement import Again, Judge, LeafPair, pair_leaves
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import DRAWN
from workbench.compiler.request.compile_request import check_args
from workbench.errors import UsageError, WorkbenchError, suggest
from workbench.processes.child import Child
from workbench.report.file_rows import (
    CPP,
    WAYS,
    RoundTripLeaf,
    RoundTripPhase,
    RoundTripWay,
    way_of,
)
from workbench.report.report_holder import ReportHolder
from workbench.report.roundtrip import RoundTrip
from workbench.roundtrips.run_loader import Opaque
from workbench.roundtrips.subject import COMPARED, Leaves, Shipment, TripPlan
from workbench.roundtrips.trip_plans import plan_trip
from workbench.roundtrips.way_process import OUTPUTS
from workbench.tasks.progress_events import ProgressCallback
from workbench.temporary import make_folder

_RANDOM = re.compile("rand|dropout|bernoulli|multinomial|normal_functional")
_LIKE_EAGER = (  # for what is compiled, for what is recorded
    "options={'fallback_random': True}",
    "torch._inductor.config.fallback_random = True",
)
_FILLING = "torch.compile, to fill the cache"
_USUAL = ("eager", "ours")  # the others measure torch, for most of a minute
LIMIT_S = 1800.0
_ITEM = re.compile(r"\['(\w+)'\]")
_HIDDEN = ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TRITON_INTERPRET")
_CACHES = {  # folders that each way has for itself
    "TMPDIR": "tmp",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "AOT_WORKBENCH_CACHE": "workbench",
}
_TAIL = 1500  # characters of what a process wrote before it died


def roundtrip(
    x: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    ways: Sequence[str] | None = None,
    reference: Callable[..., Any] | None = None,
    model: str | None = None,
    progress: ProgressCallback | None = None,
) -> RoundTrip:
    """See `workbench.roundtrip`."""
    chosen = _chosen(ways)
    check_args(args, kwargs)
    folder = make_folder("aot-workbench-roundtrip-")
    shipment = Shipment(getattr(x, "name", "") or type(x).__name__)
    try:
        inputs = tuple(args), dict(kwargs or {}), reference
        subject = plan_trip(x, *inputs, model, chosen, folder, shipment)
        trip = _Trip(subject, chosen, folder, progress, time.perf_counter())
        round_trip = trip.taken()
    finally:
        for made_folder in (folder, *shipment.folders):
            remove(made_folder)
    if isinstance(x, ReportHolder):
        x.update(round_trip.report)
    return round_trip


def _chosen(ways: Sequence[str] | None) -> tuple[str, ...]:
    chosen = _USUAL if ways is None else (ways,) if isinstance(ways, str) else tuple(ways)
    all_ways = (*WAYS, CPP)
    for way in chosen:
        if way not in all_ways:
            raise UsageError(
                f"{way!r} is not a start-up mode. Choose from: {', '.join(all_ways)}."
                f"{suggest(way, all_ways)}"
            )
    if not chosen:
        raise UsageError(f"Name at least one start-up mode: {', '.join(all_ways)}.")
    return tuple(way for way in all_ways if way in chosen)


@dataclass
class _Trip:
    """One round trip under way."""

    subject: TripPlan
    ways: tuple[str, ...]
    folder: Path
    progress: ProgressCallback | None
    began: float

    def taken(self) -> RoundTrip:
        """Go every way, then put the answer together."""
        outputs: dict[str, Leaves] = {}
        by_way = {way: self._gone(way, outputs) for way in self.ways}
        expected, notes = self._expected(outputs)
        ways: list[RoundTripWay] = []
        phases: list[RoundTripPhase] = []
        leaves: list[RoundTripLeaf] = []
        for way, answer in by_way.items():
            if "error" in answer:
                ways.append(RoundTripWay(way, ran=False, note=str(answer["error"])))
                continue
            own = self._leaves(way, expected, outputs[way]) if expected else ()
            notes += [f"not checked: {r.leaf} of {way}, {r.note}" for r in own if not r.checked]
            steps = tuple(_phases(way, answer["stretches"]))
            ways.append(way_of(way, steps, own, answer["calls_s"], answer["peak_rss_bytes"]))
            phases += steps
            leaves += own
        round_trip = RoundTrip(
            name=self.subject.name,
            file=self.subject.file.name,
            size=self.subject.file.stat().st_size,
            digest=self.subject.digest,
            ways=tuple(ways),
            phases=tuple(phases),
            leaves=tuple(leaves),
            saved_s=self.subject.saved_s,
            notes=(*self.subject.notes, *notes, *self._why_different(leaves)),
            report=self.subject.report,
        )
        return replace(round_trip, report=round_trip.filled())

    def _leaves(self, way: str, expected: Leaves, actual: Leaves) -> tuple[RoundTripLeaf, ...]:
        is_torch = way == "eager" or not self.subject.draws_otherwise
        reference = self.subject.expected
        is_here = reference is not None and expected is reference.leaves
        return (
            *_leaf_rows(
                way, expected, actual, reference.in_double if reference and is_here else None
            ),
            *_form_rows(way, expected, actual),
            *_random_rows(way, expected, actual, "" if is_torch else DRAWN),
            *_not_checked(way, expected, actual),
        )

    def _gone(self, way: str, outputs: dict[str, Leaves]) -> dict[str, Any]:
        if way in self.subject.reasons:
            return {"error": self.subject.reasons[way]}
        caches = self.folder / ("caches-compile" if way.startswith("compile") else f"caches-{way}")
        if way == "compile_warm" and not caches.exists():
            filled = self._run("compile_cold", caches, _FILLING)
            if "error" in filled:
                return filled
        answer = self._run(way, caches, way)
        if "error" not in answer:
            outputs[way] = torch.load(self._place(way) / OUTPUTS, weights_only=False)
        return answer

    def _run(self, way: str, caches: Path, words: str) -> dict[str, Any]:
        if self.progress is not None:
            self.progress(words, time.perf_counter() - self.began)
        order = {**self.subject.order, "way": way}
        temporary = (self.folder, *self.subject.folders)
        return run(self._place(way), caches, order, temporary)

    def _place(self, way: str) -> Path:
        return self.folder / f"way-{way}"

    def _expected(self, outputs: Mapping[str, Leaves]) -> tuple[Leaves | None, list[str]]:
        """What to compare with: eager here, else eager in its own process."""
        if self.subject.expected is not None:
            return self.subject.expected.leaves, []
        if "eager" in outputs:
            return outputs["eager"], ["compared with eager in its own process"]
        why = self.subject.reasons.get("eager", "eager was not among the start-up modes")
        return None, [f"nothing was compared: {why}"]

    def _why_different(self, leaves: Sequence[RoundTripLeaf]) -> Iterator[str]:
        captured = self.subject.report.nodes.columns.get("target", ())
        targets = (*captured, *self.subject.operators)
        if not all(leaf.ok for leaf in leaves) and any(map(_RANDOM.search, targets)):
            yield (
                "compiled code and eager draw different random numbers: compile with "
                f"{_LIKE_EAGER[bool(self.subject.operators)]} to compare, or compile in evaluation "
                "mode"
            )


def _phases(way: str, stretches: Sequence[Sequence[Any]]) -> Iterator[RoundTripPhase]:
    """The stretches of each phase put together, one phase after the other."""
    took: dict[str, float] = {}
    for name, start, end in stretches:
        took[name] = took.get(name, 0.0) + end - start
    at = 0.0
    for name, duration in took.items():
        yield RoundTripPhase(way, name, at, duration)
        at += duration


def _leaf_rows(
    way: str, expected: Leaves, actual: Leaves, again: Again | None
) -> Iterator[RoundTripLeaf]:
    judge = Judge(again=again)
    for where in COMPARED:
        left, right = _comparable(expected.get(where, [])), _comparable(actual.get(where, []))
        if way == "torch":
            right = _as_data_classes(left, right)
        if where in ("state", "gradients"):
            left, right = _both(where, (expected, left), (actual, right))
            pairs = [LeafPair(n, a, b) for (n, a), (_, b) in zip(left, right, strict=True)]
        else:
            pairs = list(pair_leaves(where, left, right))
        both = zip_longest(left, right, fillvalue=("", None))
        if where == "inputs" and all(n == m and _same_bytes(a, b) for (n, a), (m, b) in both):
            continue
        for row, pair in zip(judge.judge(pairs), pairs, strict=True):
            is_exact = row.ok and _same_bytes(pair.expected, pair.actual)
            yield _of_row(way, row, is_exact=is_exact)


def _of_row(way: str, row: Comparison, *, is_exact: bool) -> RoundTripLeaf:
    figures = {k: v for k, v in vars(row).items() if k not in ("verdict", "reason")}
    is_checked = row.verdict != "not checked"
    return RoundTripLeaf(
        way=way, bit_exact=is_exact, ok=row.ok, note=row.reason, checked=is_checked, **figures
    )


def _forms(expected: Leaves, actual: Leaves) -> Iterator[tuple[Forms, Forms]]:
    pairs = zip(expected.get("forms", []), actual.get("forms", []), strict=False)
    yield from ((left, right) for (_, left), (_, right) in pairs)


def _form_rows(way: str, expected: Leaves, actual: Leaves) -> Iterator[RoundTripLeaf]:
    """What outputs are besides their numbers; torch's loader gives dicts for data classes."""
    for left, right in _forms(expected, actual):
        for name, why in left.differences(right, containers=way != "torch"):
            yield _apart(way, name, why, checked=True)
        for name, why, is_wrong in left.layouts(right):
            yield _apart(way, name, why, checked=is_wrong)


Side = tuple[Leaves, list[tuple[str, Any]]]
"""Everything of a run, and those leaves of it that are compared."""


def _both(
    where: str, one: Side, other: Side
) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """The state or gradients of two runs under the same names, as far as both reach them.

    What only one of them changed is left alone by the other, which is a difference.
    """
    (expected, left), (actual, right) = one, other
    all_names = dict(left) | dict(right)
    lost = {name for name, _ in _unreached(where, expected, actual)}
    names = [name for name in all_names if name not in lost]
    sides = [{**dict.fromkeys(names, _UNCHANGED), **dict(side)} for side in (left, right)]
    return [(n, sides[0][n]) for n in names], [(n, sides[1][n]) for n in names]


_UNCHANGED = "left as it was"


def _unreached(where: str, expected: Leaves, actual: Leaves) -> Iterator[tuple[str, str]]:
    """The state or gradients that one of two runs does not reach, and why that is so."""
    both = [dict(side.get(where, [])) for side in (expected, actual)]
    reached = [{name for name, _ in side.get("reached", [])} for side in (expected, actual)]
    for name in {**both[0], **both[1]}:
        for values, names in zip(both, reached, strict=True):
            is_new = not any(name in own_names for own_names in reached)
            if name in values or (where == "state" and (name in names or is_new)):
                continue
            yield name, "only one of the two runs has this value"


def _random_rows(
    way: str, expected: Leaves, actual: Leaves, otherwise: str
) -> Iterator[RoundTripLeaf]:
    """The random states that a way leaves otherwise; `otherwise` says why torch's may differ."""
    states, others = dict(expected.get("random", [])), dict(actual.get("random", []))
    for name in {**states, **others}:
        if states.get(name) == others.get(name):
            continue
        if "random" not in actual:
            yield _apart(
                way,
                name,
                "the process of this start-up mode does not report the value",
                checked=False,
            )
        elif otherwise and name.startswith(TORCH_RANDOM):
            yield _apart(way, name, otherwise, checked=False)
        else:
            yield _apart(way, name, difference(states.get(name), others.get(name)), checked=True)


def _not_checked(way: str, expected: Leaves, actual: Leaves) -> Iterator[RoundTripLeaf]:
    """A row for what a way and eager have no common ground for."""
    for where in ("state", "gradients"):
        for name, why in _unreached(where, expected, actual):
            yield _apart(way, name, why, checked=False)
    for side, whose in ((expected, "eager"), (actual, way)):
        for why, _ in side.get("backward", []):
            words = f"the backward pass of {whose} raises: {why}"
            yield _apart(way, "gradients", words, checked=False)


def _apart(way: str, name: str, note: str, *, checked: bool) -> RoundTripLeaf:
    """A row for what differs in another way than by its numbers, or was not compared."""
    error = math.inf if checked else math.nan
    return RoundTripLeaf(
        way,
        name,
        "",
        (),
        bit_exact=False,
        max_abs_error=error,
        max_rel_error=error,
        rtol=0.0,
        atol=0.0,
        ok=False,
        note=note,
        checked=checked,
    )


def _as_data_classes(
    left: list[tuple[str, Any]], right: list[tuple[str, Any]]
) -> list[tuple[str, Any]]:
    """The leaves under the names on the left: torch's loader gives dicts for data classes."""
    names = [name for name, _ in left]
    if [_ITEM.sub(r".\1", name) for name, _ in right] != [_ITEM.sub(r".\1", n) for n in names]:
        return right
    return [(name, leaf) for name, (_, leaf) in zip(names, right, strict=True)]


def _comparable(leaves: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(name, leaf) for name, leaf in leaves if not isinstance(leaf, Opaque)]


def _same_bytes(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and bool(a == b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    flat = (t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(*flat)


def run(
    folder: Path, caches: Path, order: Mapping[str, Any], temporary: Collection[Path] = ()
) -> dict[str, Any]:
    """Run one order in a new process and return what it found, or `{"error": …}`.

    The process and everything that it started end with this call, also after an interrupt.
    `folder` is new and gets its outputs; its caches are in `caches`. `temporary` are folders that
    it removes when this process ends first.
    """
    folder.mkdir()
    started = time.perf_counter()
    removed = tuple(str(one) for one in (folder, *temporary))
    variables = {}
    for variable, name in _CACHES.items():
        (caches / name).mkdir(parents=True, exist_ok=True)
        variables[variable] = str(caches / name)
    with Child(
        "workbench.roundtrips.way_process", variables=variables, hidden=_HIDDEN, temporary=removed
    ) as child:
        try:
            answer: dict[str, Any] = child.ask(
                (str(folder), started, dict(order)), deadline=time.monotonic() + LIMIT_S
            )
        except TimeoutError:
            return {"error": f"it took longer than {LIMIT_S:.0f} s and was ended"}
        except EOFError:
            wrote = child.last_words(_TAIL) or "(nothing)"
            return {"error": f"its process {child.how_it_ended()}; it wrote: {wrote}"}
        except WorkbenchError as error:
            return {"error": str(error)}
    return answer


def remove(folder: Path) -> None:
    """Remove a folder, even if a process that was just ended still writes there."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)

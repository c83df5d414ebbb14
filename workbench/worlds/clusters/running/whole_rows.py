"""What each rank gives, held against its part of what the unsharded model gives.

A tensor on a mesh says which part of the whole it is. Of a plain tensor it is told from its sizes:
the whole, or a part along one of its dimensions, counted along dimensions of the mesh. The
unsharded model is run once: its outputs, its gradients, the same in double precision.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, prod
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.call_state.random_states import keep_random_state
from workbench.compiler.call_state.reachable import Snapshot
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.judgement import (
    GRADIENT,
    InDouble,
    Judge,
    LeafPair,
    Tolerance,
)
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import Subject
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError, read_first_line
from workbench.worlds.clusters.running.rank_threads import Rank
from workbench.worlds.clusters.running.sent_collectives import CollectiveChange, Sent

_MOST_TRIALS = 24


@dataclass(frozen=True)
class Part:
    """Which part of a whole tensor a plain one is: all of it, or along `dim` over `dims`."""

    dim: int | None = None
    dims: tuple[str, ...] = ()

    def cut(self, whole: torch.Tensor, rank: Rank) -> torch.Tensor:
        """The part of a whole tensor that a rank has."""
        if self.dim is None:
            return whole
        place, count = 0, 1
        for name in self.dims:
            size = rank.turns.sizes[name]
            place, count = place * size + rank.coordinates[name], count * size
        return whole.chunk(count, self.dim)[place]


def list_parts(shape: Sequence[int], whole: Sequence[int], rank: Rank) -> list[Part]:
    """Which parts a tensor of these sizes may be; none where it fits nowhere."""
    if list(shape) == list(whole):
        return [Part()]
    if len(shape) != len(whole):
        return []
    other = [n for n, (own, full) in enumerate(zip(shape, whole, strict=True)) if own != full]
    if len(other) != 1 or not shape[other[0]] or whole[other[0]] % shape[other[0]]:
        return []
    count = whole[other[0]] // shape[other[0]]
    sizes = rank.turns.sizes
    return [
        Part(other[0], names)
        for length in range(1, len(sizes) + 1)
        for names in combinations(sizes, length)
        if prod(sizes[name] for name in names) == count
    ]


def _is_on_mesh(value: Any) -> bool:
    from torch.distributed.tensor import DTensor

    return isinstance(value, DTensor)


def _spread(whole: torch.Tensor, like: Any) -> Any:
    """A whole tensor laid out on a mesh as another is, sums being there in full on each rank."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(whole, like.device_mesh, _in_full(like), src_data_rank=None)


def _sum_up(value: Any) -> Any:
    """A tensor on a mesh without placements that are sums still to be taken."""
    if not any(p.is_partial() for p in value.placements):
        return value
    return value.redistribute(placements=_in_full(value))


def _in_full(like: Any) -> list[Any]:
    from torch.distributed.tensor import Replicate

    return [Replicate() if p.is_partial() else p for p in like.placements]


_ON_MESH = object()
"""In place of a `Part`: the tensor itself says which it is."""


@dataclass
class _Taken:
    """One run of a rank's program: pairs to compare, and by name their value in double."""

    pairs: list[LeafPair]
    exact: dict[str, Any]


class WholeRows:
    """One rank's outputs and gradients against the unsharded model's."""

    def __init__(
        self,
        whole: Whole,
        rank: Rank,
        module: torch.nn.Module | None,
        sent_eagerly: Sequence[Sent],
        rtol: float | None,
        atol: float | None,
    ):
        self._whole = whole
        self._rank = rank
        self._module = module
        self._sent_eagerly = sent_eagerly
        self._tolerance = Tolerance(rtol, atol)

    def rows(self, subject: Subject, function: Callable[..., Any]) -> tuple[list[Comparison], str]:
        """A row for each leaf, and what makes a difference where that was found."""
        rank = self._rank
        rank.begin()
        taken = self._run(subject, function)
        sent = self._with_lines(rank.sent)
        rows = self._compared(taken)
        if not self._is_wrong(rows):
            return rows, ""
        if other := self._say_other_values():
            return rows, other
        changed, lost = self._try_changes(subject, function, sent)
        return rows, changed or explain_values(
            rank, Judge(self._tolerance), self._whole.loss, taken.pairs, rows
        ) or lost

    def _say_other_values(self) -> str:
        """Which parameters of the ranks are none of the unsharded model's, in a sentence."""
        taken = _Taken([], {})
        with torch.no_grad():
            whole = self._whole.learned
            own = {n: p for n, p in list_learned(self._module).items() if n in whole}
            gathered = self._gathered(own, whole)
            parts = self._choose_parts(gathered, whole)
            for name, one in gathered.items():
                self._judge(name, one, whole[name], taken, parts.get(name))
            rows = Judge(self._tolerance).compare(taken.pairs)
            wrong = [row.leaf for row in rows if row.verdict == "failed"]
        everywhere = self._rank.exchange(wrong)
        names = list(dict.fromkeys(name for leaves in everywhere for name in leaves))
        if not names:
            return ""
        shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
        return (
            f"The ranks and {self._whole.name} start from different values of {shown}. Call the "
            "same torch.manual_seed in build and before creating the reference."
        )

    def _with_lines(self, sent: Sequence[Sent]) -> tuple[Sent, ...]:
        """With the lines of the program without a compiler, where that sends the same."""
        eager = self._sent_eagerly
        if [(*s.kind, s.ranks) for s in sent] != [(*s.kind, s.ranks) for s in eager]:
            return tuple(sent)
        return tuple(replace(s, line=e.line) for s, e in zip(sent, eager, strict=True))

    def _is_wrong(self, rows: Sequence[Comparison]) -> bool:
        return any(self._rank.exchange(any(row.verdict == "failed" for row in rows)))

    def _run(self, subject: Subject, function: Callable[..., Any]) -> _Taken:
        before = Snapshot.of(subject.reached)
        args, kwargs = copy_all_inputs(subject.args, subject.kwargs, subject.held)
        with keep_random_state(), subject.around():
            try:
                outputs = name_leaves(function(*args, **kwargs))
                taken = _Taken([], {})
                weights = dict(self._judge_outputs(outputs, taken))
                learned = list_learned(self._module) if torch.is_grad_enabled() else {}
                gradients = differentiate(outputs, weights, learned)
                with torch.no_grad():
                    self._judge_gradients(gradients, taken)
            finally:
                before.restore()
        return taken

    def _judge_outputs(
        self, outputs: Mapping[str, Any], taken: _Taken
    ) -> Iterator[tuple[str, torch.Tensor]]:
        expected = self._whole.results.outputs
        outputs = self._gathered(outputs, expected)
        parts = self._choose_parts(outputs, expected)
        for name in dict.fromkeys([*expected, *outputs]):
            if name not in outputs or name not in expected:
                who = "the ranks return" if name in outputs else "the reference returns"
                taken.pairs.append(LeafPair(name, None, None, failure=f"only {who} it"))
                continue
            part = self._judge(name, outputs[name], expected[name], taken, parts.get(name))
            if isinstance(outputs[name], torch.Tensor) and part is not None:
                weight = self._whole.weights[name]
                if part is _ON_MESH:
                    yield name, _spread(weight.to(outputs[name].dtype), outputs[name])
                    continue
                is_part = part.dim is not None and self._whole.loss == "mean"
                count = prod(self._rank.turns.sizes[dim] for dim in part.dims) if is_part else 1
                yield name, part.cut(weight, self._rank) * count

    def _judge_gradients(self, gradients: Mapping[str, Any], taken: _Taken) -> None:
        expected = self._whole.results.gradients
        gradients = self._gathered(gradients, expected)
        parts = self._choose_parts(gradients, expected)
        for name, gradient in gradients.items():
            shown = f"{GRADIENT}{name}"
            if name not in expected:
                why = "the reference has no parameter with this name"
                taken.pairs.append(LeafPair(shown, None, gradient, not_checked=why))
                continue
            whole = expected[name]
            if gradient is None and whole is None:
                continue
            if gradient is None or whole is None:
                who = "the reference" if gradient is None else "the ranks"
                taken.pairs.append(LeafPair(shown, whole, gradient, failure=f"only {who} has one"))
                continue
            self._judge(shown, gradient, whole, taken, parts.get(name))

    def _judge(self, name: str, value: Any, whole: Any, taken: _Taken, part: Part | None) -> Any:
        """Note a pair of a value and its part of the whole; which part it is."""
        exact = None
        if (exact_of := self._whole.exact) is not None:
            by_name = exact_of.gradients if name.startswith(GRADIENT) else exact_of.outputs
            exact = by_name.get(name.removeprefix(GRADIENT))
        if not isinstance(value, torch.Tensor) or not isinstance(whole, torch.Tensor):
            taken.pairs.append(LeafPair(name, whole, value))
            return Part()
        if _is_on_mesh(value):
            expected = _spread(whole.to(value.dtype), value).to_local()
            taken.pairs.append(LeafPair(name, expected, _sum_up(value.detach()).to_local()))
            if exact is not None:
                taken.exact[name] = _spread(exact, value).to_local()
            return _ON_MESH
        if part is None:
            why = (
                f"its size {list(value.shape)} is not an even split of the reference's "
                f"{list(whole.shape)}"
            )
            taken.pairs.append(LeafPair(name, whole, value, not_checked=why))
            return None
        taken.pairs.append(LeafPair(name, part.cut(whole, self._rank), value.detach().clone()))
        if exact is not None:
            taken.exact[name] = part.cut(exact, self._rank)
        return part

    def _gathered(self, values: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
        """With what is on one dimension of the mesh, and a part along another, as plain tensors."""
        return {
            name: _sum_up(one.detach()).full_tensor()
            if _is_on_mesh(one)
            and isinstance(whole.get(name), torch.Tensor)
            and one.shape != whole[name].shape
            else one
            for name, one in values.items()
        }

    def _choose_parts(self, values: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Part]:
        """Of plain tensors the part that fits best on all ranks whose sizes allow it."""
        own = {
            name: {part: self._distance(part, one, full) for part in parts}
            for name, one in values.items()
            if isinstance(one, torch.Tensor) and not _is_on_mesh(one)
            if isinstance(full := whole.get(name), torch.Tensor)
            if (parts := list_parts(one.shape, full.shape, self._rank))
        }
        everyone = self._rank.exchange(own)
        return {
            name: min(
                parts,
                key=lambda part: max(
                    distances.get(name, {}).get(part, 0.0) for distances in everyone
                ),
            )
            for name, parts in own.items()
        }

    def _distance(self, part: Part, value: torch.Tensor, whole: torch.Tensor) -> float:
        off = (part.cut(whole, self._rank).double() - value.detach().double()).abs()
        return float(off.nan_to_num(nan=inf).max()) if off.numel() else 0.0

    def _compared(self, taken: _Taken) -> list[Comparison]:
        exact = InDouble(taken.exact)
        judge = Judge(self._tolerance, lambda dice: exact if dice is None else InDouble())
        return judge.judge(taken.pairs)

    def _try_changes(
        self, subject: Subject, function: Callable[..., Any], sent: tuple[Sent, ...]
    ) -> tuple[str, str]:
        """Run it again with one collective changed: which changes make all right, "" for none.

        Then what was tried.
        """
        kinds = self._rank.exchange(
            [(collective.op, collective.reduction, collective.group) for collective in sent]
        )
        if any(other != kinds[0] for other in kinds):
            return "", "The ranks start different collectives, so no change was tried."
        changes = list(list_changes(sent, self._rank.turns.sizes))
        right = []
        for change in changes[:_MOST_TRIALS]:
            self._rank.begin(change)
            try:
                rows = self._compared(self._run(subject, function))
            finally:
                self._rank.begin()
            if not self._is_wrong(rows):
                right.append(say_change(change, sent[change.number]))
        if right:
            if len(right) == 1:
                return f"One change fixes all values: {right[0]}.", ""
            return f"Any one of these changes fixes all values: {'; '.join(right)}.", ""
        tried = min(len(changes), _MOST_TRIALS)
        return "", (
            "No change to a single collective fixes the result, so a collective is missing or the "
            f"code between collectives is wrong. Tried: {tried} of {len(changes)} changes (another "
            "reduction, another mesh dimension, no collective)."
        )


def explain_values(
    rank: Rank, judge: Judge, loss: str, pairs: Sequence[LeafPair], rows: Sequence[Comparison]
) -> str:
    """What is right in place of the values that differ: a sum or mean of ranks, a multiple."""
    wrong = [
        pair
        for pair, row in zip(pairs, rows, strict=True)
        if row.verdict == "failed" and isinstance(pair.actual, torch.Tensor)
    ]
    everyone = rank.exchange([(p.name, p.expected, p.actual) for p in wrong])
    names = list(dict.fromkeys(name for entries in everyone for name, *_ in entries))
    if len({tuple(name for name, *_ in entries) for entries in everyone}) > 1:
        return ""
    shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    turns, own = rank.turns, rank.number
    for dim in turns.sizes:
        group = turns.group_of(own, dim)
        for how, share in (("sum", 1), ("mean", len(group))):
            sums = [_add_up(everyone, group, n, share) for n in range(len(names))]
            if _all_fit(rank, judge, everyone[own], sums):
                return (
                    f"The {how} of {shown} over {dim} is right, so the collective that computes it "
                    "is missing."
                )
    for dim, size in turns.sizes.items():
        for factor, words in ((size, f"{size} times"), (1 / size, f"1/{size} of")):
            parts = [actual / factor for _, _, actual in everyone[own]]
            if size > 1 and _all_fit(rank, judge, everyone[own], parts):
                return (
                    f"{shown} {'are' if len(names) > 1 else 'is'} {words} the right value, and "
                    f"{dim} has {size} ranks, so a sum replaced a mean, or the reverse."
                    f"{_say_loss(loss, names)}"
                )
    return ""


def _say_loss(loss: str, names: Sequence[str]) -> str:
    """What was assumed of gradients, where nothing else is wrong."""
    if not all(name.startswith(GRADIENT) for name in names):
        return ""
    other = next(kind for kind in LOSSES if kind != loss)
    return (
        f" They were compared for the {loss} of the ranks' losses; for their {other}, pass "
        f"loss={other!r}."
    )


def _all_fit(
    rank: Rank,
    judge: Judge,
    wrong: Sequence[tuple[str, Any, Any]],
    instead: Sequence[torch.Tensor | None],
) -> bool:
    """Whether these in place of the values that differ are right, on every rank."""
    sides = [
        LeafPair(name, expected, value)
        for (name, expected, _), value in zip(wrong, instead, strict=True)
    ]
    fits = bool(sides) and all(isinstance(side.actual, torch.Tensor) for side in sides)
    fits = fits and all(row.verdict == "passed" for row in judge.compare(sides))
    return all(rank.exchange(fits))


def _add_up(
    everyone: Sequence[Any], group: Sequence[int], n: int, share: int
) -> torch.Tensor | None:
    """The sum of the n-th value that differs over a group, or the mean for its size as share."""
    values = [everyone[rank][n][2] for rank in group]
    if any(not isinstance(v, torch.Tensor) or v.shape != values[0].shape for v in values):
        return None
    return torch.stack([value.double() for value in values]).sum(0).div(share).to(values[0].dtype)


def list_changes(sent: Sequence[Sent], sizes: Mapping[str, int]) -> Iterator[CollectiveChange]:
    """What one collective could have been instead: each way that its sizes and dtype allow."""
    for one in sent:
        if one.op == "all_reduce" or one.reduction:
            for other in ("sum", "avg"):
                is_number = one.dtype.startswith(("float", "bfloat", "complex"))
                if one.reduction != other and (other == "sum" or is_number):
                    yield CollectiveChange(one.number, reduction=other)
        for name, size in sizes.items():
            fits = one.op == "all_reduce" or size == len(one.ranks)
            if name != one.group and size > 1 and fits:
                yield CollectiveChange(one.number, group=name)
        if one.op == "all_reduce":
            yield CollectiveChange(one.number)


def say_change(change: CollectiveChange, sent: Sent) -> str:
    """A change in words."""
    which = f"collective {change.number + 1}: {sent}"
    if change.reduction:
        return f"Reducing with {change.reduction!r} in {which}"
    if change.group:
        return f"The group {change.group} in {which}"
    return f"Leaving out {which}"


LOSSES = ("mean", "sum")
"""How the losses of ranks with different parts of an output make up that of the whole."""

_SEED = 20


@dataclass(frozen=True)
class Results:
    """What the unsharded model gives: outputs by their places, gradients of parameters by name."""

    outputs: Mapping[str, Any]
    gradients: Mapping[str, torch.Tensor | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """The unsharded model's results, `exact` the same in double precision where it has them.

    `weights` weigh the outputs in the loss whose gradients are compared; `learned` are the
    parameters.
    """

    name: str
    results: Results
    exact: Results | None
    weights: Mapping[str, torch.Tensor]
    loss: str
    learned: Mapping[str, torch.Tensor]

    @classmethod
    def of(
        cls,
        reference: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        grad: bool,
        loss: str,
    ) -> Whole:
        """Run the reference, with gradients if `grad`.

        Raises `UsageError` where it cannot be run on these inputs, is on meta or draws random
        numbers.
        """
        name = getattr(reference, "__name__", type(reference).__name__)
        module = reference if isinstance(reference, torch.nn.Module) else None
        tensors = [*(module.parameters() if module else ()), *tp.TREE_LEAVES.get()((args, kwargs))]
        if any(isinstance(leaf, torch.Tensor) and leaf.is_meta for leaf in tensors):
            raise UsageError(
                f"The reference {name}, or one of its inputs, is on meta and has no values. Create "
                "it on the CPU, with the same values as the models that build returns."
            )
        with keep_random_state():
            before = torch.get_rng_state()
            try:
                results, weights = _run_whole(reference, module, args, kwargs, grad=grad)
            except (RuntimeError, TypeError, ValueError) as error:
                raise UsageError(
                    f"The reference {name} cannot run on the inputs of this call "
                    f"({read_first_line(error)}). Pass the inputs of the unsharded call to verify."
                ) from error
            if not torch.equal(before, torch.get_rng_state()):
                raise UsageError(
                    f"The reference {name} draws random numbers, and the ranks draw different "
                    "ones. Use model.eval(), or omit reference."
                )
            exact = _run_in_double(reference, module, args, kwargs, grad=grad)
        return cls(name, results, exact, weights, loss, list_learned(module))


def _run_whole(
    reference: Callable[..., Any],
    module: torch.nn.Module | None,
    args: Any,
    kwargs: Any,
    *,
    grad: bool,
) -> tuple[Results, dict[str, torch.Tensor]]:
    positional, named = copy_all_inputs(args, kwargs)
    buffers = {n: b.detach().clone() for n, b in (module.named_buffers() if module else ())}
    with torch.set_grad_enabled(grad):
        outputs = name_leaves(reference(*positional, **named))
    weights = {name: _weigh(n, leaf) for n, (name, leaf) in enumerate(outputs.items())}
    learned = list_learned(module) if grad else {}
    gradients = differentiate(outputs, weights, learned)
    with torch.no_grad():
        for name, buffer in module.named_buffers() if module else ():
            buffer.copy_(buffers[name])
    return Results({n: _detached(leaf) for n, leaf in outputs.items()}, gradients), weights


def _run_in_double(
    reference: Any, module: torch.nn.Module | None, args: Any, kwargs: Any, *, grad: bool
) -> Results | None:
    wide = tp.TREE_MAP.get()(
        lambda leaf: (
            leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
        ),
        (args, dict(kwargs)),
    )
    try:
        twin = None if module is None else copy.deepcopy(module).double()
        return _run_whole(twin or reference, twin, *wide, grad=grad)[0]
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return None  # its code may name a dtype


def name_leaves(output: Any) -> dict[str, Any]:
    """The leaves of an output by their places."""
    return {str(path): leaf for path, leaf in leaves(output, Path("output"))}


def _weigh(number: int, leaf: Any) -> torch.Tensor:
    shape = leaf.shape if isinstance(leaf, torch.Tensor) else ()
    return torch.randn(shape, generator=torch.Generator().manual_seed(_SEED + number))


def list_learned(module: torch.nn.Module | None) -> dict[str, torch.Tensor]:
    """Parameters by the names that they have in the unsharded model."""
    return {
        name.replace("parametrizations.", "").removesuffix(".original").replace("_orig_mod.", ""): p
        for name, p in (module.named_parameters() if module is not None else ())
        if p.requires_grad
    }


def differentiate(
    outputs: Mapping[str, Any], weights: Mapping[str, Any], learned: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor | None]:
    """Gradients of parameters by name, of outputs that are weighed."""
    weighed = [
        (leaf, weights[name].to(leaf.dtype))
        for name, leaf in outputs.items()
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and name in weights
    ]
    if not weighed or not learned:
        return {}
    grads = torch.autograd.grad(
        [leaf for leaf, _ in weighed],
        list(learned.values()),
        [weight for _, weight in weighed],
        allow_unused=True,
    )
    return {n: None if g is None else g.detach() for n, g in zip(learned, grads, strict=True)}


def _detached(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf

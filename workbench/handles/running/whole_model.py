"""The unsharded model, and what each rank gives held against its part of what that gives.

A tensor on a mesh says which part of the whole it is. Of a plain tensor it is told from its sizes:
the whole, or a part along one of its dimensions, counted along dimensions of the mesh.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.call_state.random_states import keep_random_state
from workbench.compiler.call_state.reachable import Snapshot
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.double_precision import settle_difference
from workbench.compiler.comparison.effects import GRADIENT, LeafPair, RowMaker, Subject
from workbench.compiler.comparison.output_comparison import (
    Comparison,
    compare_objects,
    compare_tensors,
    get_absolute_tolerance,
)
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError, read_first_line
from workbench.handles.running.rank_threads import Change, Rank, Sent

LOSSES = ("mean", "sum")
"""How the losses of ranks with different parts of an output make up that of the whole."""

_MOST_TRIALS = 24
_SEED = 20


@dataclass(frozen=True)
class Results:
    """What the unsharded model gives: outputs by their places, gradients of parameters by name."""

    outputs: Mapping[str, Any]
    gradients: Mapping[str, torch.Tensor | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """The unsharded model's results, `exact` the same in double precision where it has them.

    `weights` weigh the outputs in the loss whose gradients are compared.
    """

    name: str
    results: Results
    exact: Results | None
    weights: Mapping[str, torch.Tensor]
    loss: str

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
                f"The reference {name}, or an input of it, is on meta and has no numbers. Build it "
                "on the CPU, with the values that build gives the ranks."
            )
        with keep_random_state():
            before = torch.get_rng_state()
            try:
                results, weights = _run_whole(reference, module, args, kwargs, grad=grad)
            except (RuntimeError, TypeError, ValueError) as error:
                raise UsageError(
                    f"The reference {name} cannot be run on the inputs of this call "
                    f"({read_first_line(error)}). Those of verify are the unsharded call's."
                ) from error
            if not torch.equal(before, torch.get_rng_state()):
                raise UsageError(
                    f"The reference {name} draws random numbers, and ranks draw others. Compare "
                    "with model.eval(), or leave reference out."
                )
            exact = _run_in_double(reference, module, args, kwargs, grad=grad)
        return cls(name, results, exact, weights, loss)


def _run_whole(
    reference: Callable[..., Any],
    module: torch.nn.Module | None,
    args: Any,
    kwargs: Any,
    *,
    grad: bool,
) -> tuple[Results, dict[str, torch.Tensor]]:
    given, named = copy_all_inputs(args, kwargs)
    buffers = {n: b.detach().clone() for n, b in (module.named_buffers() if module else ())}
    with torch.set_grad_enabled(grad):
        outputs = _named_leaves(reference(*given, **named))
    weights = {name: _weigh(n, leaf) for n, (name, leaf) in enumerate(outputs.items())}
    learned = _learned(module) if grad else {}
    gradients = _differentiate(outputs, weights, learned)
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


def _named_leaves(output: Any) -> dict[str, Any]:
    return {str(path): leaf for path, leaf in leaves(output, Path("output"))}


def _weigh(number: int, leaf: Any) -> torch.Tensor:
    shape = leaf.shape if isinstance(leaf, torch.Tensor) else ()
    return torch.randn(shape, generator=torch.Generator().manual_seed(_SEED + number))


def _learned(module: torch.nn.Module | None) -> dict[str, torch.Tensor]:
    """Parameters by the names that they have in the unsharded model."""
    return {
        name.replace("parametrizations.", "").removesuffix(".original").replace("_orig_mod.", ""): p
        for name, p in (module.named_parameters() if module is not None else ())
        if p.requires_grad
    }


def _differentiate(
    outputs: Mapping[str, Any], weights: Mapping[str, Any], learned: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor | None]:
    known = [
        (leaf, weights[name].to(leaf.dtype))
        for name, leaf in outputs.items()
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and name in weights
    ]
    if not known or not learned:
        return {}
    given = torch.autograd.grad(
        [leaf for leaf, _ in known],
        list(learned.values()),
        [weight for _, weight in known],
        allow_unused=True,
    )
    return {n: None if g is None else g.detach() for n, g in zip(learned, given, strict=True)}


def _detached(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


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
    from torch.distributed.tensor import Replicate, distribute_tensor

    placements = [Replicate() if p.is_partial() else p for p in like.placements]
    return distribute_tensor(whole.to(like.dtype), like.device_mesh, placements, src_data_rank=None)


def _sum_up(value: Any) -> Any:
    """A tensor on a mesh without placements that are sums still to be taken."""
    from torch.distributed.tensor import Replicate

    if not any(p.is_partial() for p in value.placements):
        return value
    return value.redistribute(
        placements=[Replicate() if p.is_partial() else p for p in value.placements]
    )


@dataclass
class _Taken:
    """One run of a rank's program: pairs to compare, and by name their value in double."""

    pairs: list[LeafPair]
    exact: dict[str, Any]


class WholeRows:
    """One rank's outputs and gradients against the unsharded model's."""

    def __init__(
        self, whole: Whole, rank: Rank, module: torch.nn.Module | None,
        sent_eagerly: Sequence[Sent], rtol: float | None, atol: float | None,
    ):  # fmt: skip
        self._whole = whole
        self._rank = rank
        self._module = module
        self._sent_eagerly = sent_eagerly
        self._maker = RowMaker(
            lambda leaf, left, right, scale: compare_tensors(leaf, left, right, rtol, atol, scale),
            compare_objects,
            unit=get_absolute_tolerance if atol is None else None,
        )

    def rows(self, subject: Subject, function: Callable[..., Any]) -> tuple[list[Comparison], str]:
        """A row for each leaf, and what makes a difference where that was found."""
        rank = self._rank
        rank.begin()
        taken = self._run(subject, function)
        sent = self._with_lines(rank.sent)
        rows = self._compared(taken)
        if not self._is_wrong(rows):
            return rows, ""
        changed, lost = self._try_changes(subject, function, sent)
        return rows, changed or self._explain_values(taken, rows) or lost

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
                outputs = _named_leaves(function(*args, **kwargs))
                taken = _Taken([], {})
                weights = dict(self._judge_outputs(outputs, taken))
                learned = _learned(self._module) if torch.is_grad_enabled() else {}
                gradients = _differentiate(outputs, weights, learned)
                with torch.no_grad():
                    for name, gradient in gradients.items():
                        self._judge_gradient(name, gradient, taken)
            finally:
                before.restore()
        return taken

    def _judge_outputs(
        self, outputs: Mapping[str, Any], taken: _Taken
    ) -> Iterator[tuple[str, torch.Tensor]]:
        expected = self._whole.results.outputs
        for name in dict.fromkeys([*expected, *outputs]):
            if name not in outputs or name not in expected:
                who = "the ranks give" if name in outputs else "the reference gives"
                taken.pairs.append(LeafPair(name, None, None, failure=f"only {who} it"))
                continue
            found = self._judge(name, outputs[name], expected[name], taken)
            if isinstance(outputs[name], torch.Tensor) and found is not None:
                weight = self._whole.weights[name]
                if found is _ON_MESH:
                    yield name, _spread(weight, outputs[name])
                    continue
                is_part = found.dim is not None and self._whole.loss == "mean"
                count = prod(self._rank.turns.sizes[each] for each in found.dims) if is_part else 1
                yield name, found.cut(weight, self._rank) * count

    def _judge_gradient(self, name: str, gradient: Any, taken: _Taken) -> None:
        shown = f"{GRADIENT}{name}"
        expected = self._whole.results.gradients
        if name not in expected:
            why = "the reference has no parameter of this name"
            taken.pairs.append(LeafPair(shown, None, gradient, not_checked=why))
            return
        whole = expected[name]
        if gradient is None and whole is None:
            return
        if gradient is None or whole is None:
            who = "the reference" if gradient is None else "the ranks"
            taken.pairs.append(LeafPair(shown, whole, gradient, failure=f"only {who} has one"))
            return
        self._judge(shown, gradient, whole, taken)

    def _judge(self, name: str, given: Any, whole: Any, taken: _Taken) -> Any:
        """Note a pair of a value and its part of the whole; which part it is."""
        exact_of = self._whole.exact
        exact = None
        if exact_of is not None:
            by_name = exact_of.gradients if name.startswith(GRADIENT) else exact_of.outputs
            exact = by_name.get(name.removeprefix(GRADIENT))
        if not isinstance(given, torch.Tensor) or not isinstance(whole, torch.Tensor):
            taken.pairs.append(LeafPair(name, whole, given))
            return Part()
        if _is_on_mesh(given):
            local = _sum_up(given.detach())
            if given.shape == whole.shape:
                expected = _spread(whole, given).to_local()
                taken.pairs.append(LeafPair(name, expected, local.to_local()))
                if exact is not None:
                    taken.exact[name] = _local_of(exact, given)
                return _ON_MESH
            given = local.full_tensor()  # of one dimension of the mesh, a part along another
        parts = list_parts(given.shape, whole.shape, self._rank)
        if not parts:
            why = (
                f"its sizes {list(given.shape)} are no equal part of {list(whole.shape)}, what "
                "the reference gives"
            )
            taken.pairs.append(LeafPair(name, whole, given, not_checked=why))
            return None
        part = self._best(parts, given, whole)
        taken.pairs.append(LeafPair(name, part.cut(whole, self._rank), given.detach().clone()))
        if exact is not None:
            taken.exact[name] = part.cut(exact, self._rank)
        return part

    def _best(self, parts: Sequence[Part], given: torch.Tensor, whole: torch.Tensor) -> Part:
        """The part that fits best on all ranks, where the sizes leave a choice."""
        if len(parts) == 1:
            return parts[0]
        own = [
            float((part.cut(whole, self._rank).double() - given.detach().double()).abs().max())
            for part in parts
        ]
        worst = [max(each) for each in zip(*self._rank.exchange(own), strict=True)]
        return parts[worst.index(min(worst))]

    def _compared(self, taken: _Taken) -> list[Comparison]:
        rows = self._maker.rows(taken.pairs)
        return [
            settle_difference(row, (row.leaf, p.expected, p.actual), taken.exact.get(row.leaf))
            if row.verdict == "failed" and not row.reason
            else row
            for row, p in zip(rows, taken.pairs, strict=True)
        ]

    def _explain_values(self, taken: _Taken, rows: Sequence[Comparison]) -> str:
        """What is right in place of the values that differ: a sum or mean of ranks, a multiple."""
        wrong = [
            pair
            for pair, row in zip(taken.pairs, rows, strict=True)
            if row.verdict == "failed" and isinstance(pair.actual, torch.Tensor)
        ]
        everyone = self._rank.exchange([(p.name, p.expected, p.actual) for p in wrong])
        names = list(dict.fromkeys(name for each in everyone for name, *_ in each))
        if len({tuple(name for name, *_ in each) for each in everyone}) > 1:
            return ""
        shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
        turns, own = self._rank.turns, self._rank.number
        for dim in turns.sizes:
            group = turns.group_of(own, dim)
            for how, share in (("sum", 1), ("mean", len(group))):
                sums = [_add_up(everyone, group, n, share) for n in range(len(names))]
                if self._all_fit(everyone[own], sums):
                    return (
                        f"The {how} over {dim} of what the ranks give for {shown} is right: the "
                        "collective that takes it is missing."
                    )
        for dim, size in turns.sizes.items():
            for factor, words in ((size, f"{size} times"), (1 / size, f"1/{size} of")):
                parts = [actual / factor for _, _, actual in everyone[own]]
                if size > 1 and self._all_fit(everyone[own], parts):
                    return (
                        f"{shown} {'are' if len(names) > 1 else 'is'} {words} what is right, which "
                        f"is the size of {dim}: a sum stands where an average is due, or the other "
                        f"way round.{self._say_loss(names)}"
                    )
        return ""

    def _say_loss(self, names: Sequence[str]) -> str:
        """What was assumed of gradients, where nothing else is wrong."""
        if not all(name.startswith(GRADIENT) for name in names):
            return ""
        loss = self._whole.loss
        other = next(each for each in LOSSES if each != loss)
        return (
            f" They were held against the {loss} of the losses of the ranks: loss={other!r} is for "
            "those whose losses are meant so."
        )

    def _all_fit(
        self, wrong: Sequence[tuple[str, Any, Any]], instead: Sequence[torch.Tensor | None]
    ) -> bool:
        """Whether these in place of the values that differ are right, on every rank."""
        sides = [
            LeafPair(name, expected, value)
            for (name, expected, _), value in zip(wrong, instead, strict=True)
        ]
        fits = bool(sides) and all(isinstance(side.actual, torch.Tensor) for side in sides)
        fits = fits and all(row.verdict == "passed" for row in self._maker.rows(sides))
        return all(self._rank.exchange(fits))

    def _try_changes(
        self, subject: Subject, function: Callable[..., Any], sent: tuple[Sent, ...]
    ) -> tuple[str, str]:
        """Run it again with one collective changed: which changes make all right, "" for none.

        Then what was tried.
        """
        kinds = self._rank.exchange([(each.op, each.reduction, each.group) for each in sent])
        if any(other != kinds[0] for other in kinds):
            return "", "The ranks start different collectives, of which none was changed."
        changes = list(_list_changes(sent, self._rank.turns.sizes))
        right = []
        for change in changes[:_MOST_TRIALS]:
            self._rank.begin(change)
            try:
                rows = self._compared(self._run(subject, function))
            finally:
                self._rank.begin()
            if not self._is_wrong(rows):
                right.append(_say_change(change, sent[change.number]))
        if right:
            if len(right) == 1:
                return f"One change makes all of it right: {right[0]}.", ""
            return f"Any one of these makes all of it right: {'; '.join(right)}.", ""
        tried = min(len(changes), _MOST_TRIALS)
        return "", (
            f"No change of one collective makes it right ({tried} of {len(changes)} were tried: "
            "another reduction, another dimension of the mesh, left out): one is missing, or the "
            "code between them is wrong."
        )


_ON_MESH = object()


def _local_of(exact: torch.Tensor, like: Any) -> Any:
    from torch.distributed.tensor import Replicate, distribute_tensor

    placements = [Replicate() if p.is_partial() else p for p in like.placements]
    return distribute_tensor(exact, like.device_mesh, placements, src_data_rank=None).to_local()


def _add_up(
    everyone: Sequence[Any], group: Sequence[int], n: int, share: int
) -> torch.Tensor | None:
    """The sum of the n-th value that differs over a group, or the mean for its size as share."""
    values = [everyone[rank][n][2] for rank in group]
    if any(not isinstance(v, torch.Tensor) or v.shape != values[0].shape for v in values):
        return None
    return torch.stack([value.double() for value in values]).sum(0).div(share).to(values[0].dtype)


def _list_changes(sent: Sequence[Sent], sizes: Mapping[str, int]) -> Iterator[Change]:
    for one in sent:
        if one.op == "all_reduce" or one.reduction:
            for other in ("sum", "avg"):
                if one.reduction != other:
                    yield Change(one.number, reduction=other)
        for name, size in sizes.items():
            fits = one.op == "all_reduce" or size == len(one.ranks)
            if name != one.group and size > 1 and fits:
                yield Change(one.number, group=name)
        if one.op == "all_reduce":
            yield Change(one.number)


def _say_change(change: Change, sent: Sent) -> str:
    which = f"collective {change.number + 1}: {sent}"
    if change.reduction:
        return f"Reducing with {change.reduction!r} in {which}"
    if change.group:
        return f"The group {change.group} in {which}"
    return f"Leaving out {which}"

"""What makes a difference from the unsharded model: a collective, or one that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from workbench.compiler.comparison.judgement import GRADIENT, Judge, LeafPair
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.handles.running.rank_threads import Rank
from workbench.handles.running.sent_collectives import Change, Sent
from workbench.handles.running.whole_model import LOSSES


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
    names = list(dict.fromkeys(name for each in everyone for name, *_ in each))
    if len({tuple(name for name, *_ in each) for each in everyone}) > 1:
        return ""
    shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    turns, own = rank.turns, rank.number
    for dim in turns.sizes:
        group = turns.group_of(own, dim)
        for how, share in (("sum", 1), ("mean", len(group))):
            sums = [_add_up(everyone, group, n, share) for n in range(len(names))]
            if _all_fit(rank, judge, everyone[own], sums):
                return (
                    f"The {how} over {dim} of what the ranks give for {shown} is right: the "
                    "collective that takes it is missing."
                )
    for dim, size in turns.sizes.items():
        for factor, words in ((size, f"{size} times"), (1 / size, f"1/{size} of")):
            parts = [actual / factor for _, _, actual in everyone[own]]
            if size > 1 and _all_fit(rank, judge, everyone[own], parts):
                return (
                    f"{shown} {'are' if len(names) > 1 else 'is'} {words} what is right, which "
                    f"is the size of {dim}: a sum stands where an average is due, or the other "
                    f"way round.{_say_loss(loss, names)}"
                )
    return ""


def _say_loss(loss: str, names: Sequence[str]) -> str:
    """What was assumed of gradients, where nothing else is wrong."""
    if not all(name.startswith(GRADIENT) for name in names):
        return ""
    other = next(each for each in LOSSES if each != loss)
    return (
        f" They were held against the {loss} of the losses of the ranks: loss={other!r} is for "
        "those whose losses are meant so."
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


def list_changes(sent: Sequence[Sent], sizes: Mapping[str, int]) -> Iterator[Change]:
    """What one collective could have been instead: each way that its sizes and dtype allow."""
    for one in sent:
        if one.op == "all_reduce" or one.reduction:
            for other in ("sum", "avg"):
                is_number = one.dtype.startswith(("float", "bfloat", "complex"))
                if one.reduction != other and (other == "sum" or is_number):
                    yield Change(one.number, reduction=other)
        for name, size in sizes.items():
            fits = one.op == "all_reduce" or size == len(one.ranks)
            if name != one.group and size > 1 and fits:
                yield Change(one.number, group=name)
        if one.op == "all_reduce":
            yield Change(one.number)


def say_change(change: Change, sent: Sent) -> str:
    """A change in words."""
    which = f"collective {change.number + 1}: {sent}"
    if change.reduction:
        return f"Reducing with {change.reduction!r} in {which}"
    if change.group:
        return f"The group {change.group} in {which}"
    return f"Leaving out {which}"

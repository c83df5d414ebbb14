"""What becomes of the scores of attention between its two products, by the nodes of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.fusion.traffic import NodeFacts
from workbench.analysis.opportunities.rule_facts import base

_LIBRARY = "torch.nn.functional.scaled_dot_product_attention"
_REDUCED = ("amax", "sum", "prepare_softmax_online")
_OTHER = frozenset(
    (
        *("tanh", "sigmoid", "relu", "erf", "log", "log1p", "pow", "sqrt", "sin", "cos", "round"),
        *("maximum", "minimum", "clamp", "clamp_min", "clamp_max", "argmax", "topk", "sort"),
    )
)
_OF_SOFTMAX = frozenset(("exp", "sum", "amax", "sub", "eq", "ne", "where", "gt", "ge", "lt", "le"))


@dataclass(frozen=True)
class Scores:
    """Whether the library has it: no other function, a softmax of the last dimension.

    `is_scaled_by_tensor`: the factor is no number, which the library's has to be.
    """

    is_library: bool
    is_scaled_by_tensor: bool = False
    is_masked: bool = False
    is_dropped: bool = False

    @property
    def call(self) -> str:
        """An example of the library's call."""
        mask = ", attn_mask=mask" if self.is_masked else ""
        drop = ", dropout_p=p" if self.is_dropped else ""
        if self.is_scaled_by_tensor:
            return f"{_LIBRARY}(q * scale, k, v{mask}{drop}, scale=1.0)"
        return f"{_LIBRARY}(q, k, v{mask}{drop}, scale=scale)"


def find_scores(nodes: Sequence[NodeFacts], known: Mapping[str, NodeFacts]) -> Scores:
    """The scores of the kernel that these nodes are; `known` are the nodes of all graphs."""
    reduced = [node for node in nodes if base(node.target) in _REDUCED and node.shape]
    is_last = all(node.shape is not None and node.shape[-1] == 1 for node in reduced)
    full = max((node.shape or () for node in nodes), key=_measure, default=())
    whole = [node for node in nodes if node.shape == full]
    if not is_last or any(base(node.target) in _OTHER for node in whole):
        return Scores(is_library=False)
    factors = [
        other
        for node in whole
        if base(node.target) in ("mul", "div") and not _is_of_softmax(node, known)
        for other in _find_factor(node, known)
    ]
    return Scores(
        is_library=all(not f.shape or f.shape[-1] == 1 for f in factors),
        is_scaled_by_tensor=bool(factors),
        is_masked=any(_masks(node, known) for node in whole),
        is_dropped=any(base(node.target) == "inductor_random" for node in nodes),
    )


def _measure(shape: Sequence[int | str]) -> tuple[int, int]:
    sizes = [size for size in shape if isinstance(size, int)]
    whole = 1
    for size in sizes:
        whole *= size
    return len(shape), whole


def _list_inputs(node: NodeFacts, known: Mapping[str, NodeFacts]) -> list[NodeFacts]:
    return [known[id] for id in node.inputs if id in known]


def _is_of_softmax(node: NodeFacts, known: Mapping[str, NodeFacts]) -> bool:
    return any(
        base(each.target) in _OF_SOFTMAX
        and (each.shape == node.shape or base(each.target) in _REDUCED)
        for each in _list_inputs(node, known)
    )


def _find_factor(node: NodeFacts, known: Mapping[str, NodeFacts]) -> list[NodeFacts]:
    """What scores are multiplied with: the smaller of two tensors."""
    given = _list_inputs(node, known)
    return [] if len(given) != 2 else [min(given, key=lambda each: _measure(each.shape or ()))]


def _masks(node: NodeFacts, known: Mapping[str, NodeFacts]) -> bool:
    given = _list_inputs(node, known)
    kinds = {base(each.target) for each in given}
    return (base(node.target) == "add" and len(given) == 2) or (
        base(node.target) == "where" and "sub" not in kinds
    )

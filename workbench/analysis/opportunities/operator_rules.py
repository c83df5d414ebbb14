"""Operators that another way of writing them replaces: fallbacks, attention by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.fusion.traffic import NodeFacts, count_moved_bytes
from workbench.analysis.opportunities.attention_lines import rewrite_attention
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.report import Buffer, Kernel

_PARAMETERS = ("k", "dim", "largest", "sorted")


def rewrite_topk(line: str) -> str | None:
    """The line with `max` in place of its only `topk(x, 1, dim)`; None where it is not that.

    Both give values and indices by these names; among equal values the indices may differ.
    """
    text = line.strip()
    try:
        tree = ast.parse(f"def _():\n {text}")
    except SyntaxError:  # a part of a statement
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [call for call in calls if getattr(call.func, "attr", "") == "topk"]
    replacement = _max(calls[0]) if len(calls) == 1 else None
    if replacement is None or calls[0].end_col_offset is None:
        return None
    whole = f" {text}".encode()
    start, end = calls[0].col_offset, calls[0].end_col_offset
    changed = whole[:start] + ast.unparse(replacement).encode() + whole[end:]
    return line[: len(line) - len(line.lstrip())] + changed.decode()[1:]


def _max(call: ast.Call) -> ast.Call | None:
    assert isinstance(call.func, ast.Attribute)
    owner, args = call.func.value, list(call.args)
    is_function = isinstance(owner, ast.Name) and owner.id == "torch"
    first = args[:1] if is_function else []
    if (is_function and not first) or any(isinstance(arg, ast.Starred) for arg in args):
        return None
    arguments = dict(zip(_PARAMETERS, args[len(first) :], strict=False))
    arguments |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    is_plain = arguments.keys() <= set(_PARAMETERS) and all(word.arg for word in call.keywords)
    if not is_plain or not _is(arguments.get("k"), 1) or not _is(arguments.get("largest"), True):
        return None
    dim = arguments.get("dim", ast.Constant(-1))
    func = ast.Attribute(owner, "max", ast.Load())
    return ast.Call(func, [*first, dim], [ast.keyword("keepdim", ast.Constant(True))])


def _is(value: ast.expr | None, constant: int) -> bool:
    """Whether it is this constant; what is not given is the default, which `largest` is True."""
    if value is None:
        return constant is True
    return isinstance(value, ast.Constant) and value.value == constant


_NEIGHBOURS = "counted: traffic between the operator and the generated kernels around it"
_PRODUCTS = frozenset(("mm", "bmm", "addmm", "baddbmm"))
_VIEWS = frozenset(("view_as_complex", "view_as_real"))
_ROTATION = (
    "real, imag = x[..., 0::2], x[..., 1::2]",
    "turned = torch.stack((real * cos - imag * sin, real * sin + imag * cos), -1)",
)
"""A complex multiplication, as in a rotary embedding, with real numbers."""
_ONE_CALL = 1 << 18
"""Bytes of complex numbers above which a CPU gains nothing, as measured: what separate calls cost
is small beside them, and C++ for every second element is not vectorized."""
_POSITIONS = 256
_CACHED = 1 << 22
"""Bytes of scores below which attention by the library is not faster on a CPU, as measured."""


def find_topk_of_one(facts: Facts) -> Iterator[Opportunity]:
    """`topk` for one value, which `max` computes within the generated code."""
    for kernel, nodes in facts.fallbacks():
        top = next((node for node in nodes if base(node.target) == "topk"), None)
        if top is None or not top.inputs or not _is_single(facts, kernel, top):
            continue
        saved = facts.between(kernel)
        own = count_moved_bytes(kernel) or 0
        if not saved:
            continue
        concerned = [kernel, *facts.neighbours(kernel)]  # their work stays: bytes are what goes
        place = facts.place([top])
        line = facts.line_at(place["file"], place["line"]) if place else None
        after = None if line is None else rewrite_topk(line[1])
        if line is not None and "largest=False" in line[1]:
            continue
        yield Opportunity(
            id="",
            rule="topk-of-one",
            kind="replacement operator" if after is None else "rewrite",
            text="Use torch.max(x, dim, keepdim=True) instead of topk with k=1. Inductor generates "
            "no code for topk, so the input is first written to memory; max can be fused.",
            sure="likely",
            source=f"{_NEIGHBOURS} (the operator moves {own} bytes){facts.time_source(concerned)}",
            kernels=(kernel.id,),
            **place,
            saved_bytes_low=saved,
            saved_bytes_high=saved,
            saved_us_low=facts.least_microseconds(saved, concerned),
            saved_us_high=facts.microseconds(saved, concerned),
            fewer_kernels=1,
            before=() if line is None or after is None else (line[1],),
            after=(after or "values, indices = torch.max(x, dim, keepdim=True)",),
        )


def _is_single(facts: Facts, kernel: Kernel, top: NodeFacts) -> bool:
    """Whether it gives one value along a dimension that has more."""
    whole = facts.nodes[top.inputs[0]].shape if top.inputs[0] in facts.nodes else None
    shapes = [buffer.shape for buffer, _ in facts.written(kernel) if buffer.shape]
    if whole is None or not shapes or any(len(shape) != len(whole) for shape in shapes):
        return False
    reduced = [(a, b) for a, b in zip(shapes[0], whole, strict=True) if a != b]
    return len(reduced) == 1 and reduced[0][0] == 1


def find_complex_numbers(facts: Facts) -> Iterator[Opportunity]:
    """Complex arithmetic, for which Inductor calls eager operators one by one."""
    kernels = [
        kernel
        for kernel, nodes in facts.fallbacks()
        if any(_is_complex(facts, node) for node in nodes)
    ]
    computing = [k for k in kernels if not {base(op) for op in k.ops} <= _VIEWS]
    if not computing or (facts.gpu is None and _largest(facts, computing) > _ONE_CALL):
        return
    operators = {base(op) for k in computing for op in k.ops} - _VIEWS
    only_views = [k for k in kernels if k not in computing]
    views = sum(count_moved_bytes(k) or 0 for k in only_views)
    low = sum(facts.between(k) for k in kernels)
    sure, source = (low, kernels), ""
    if facts.is_measured(kernels):  # what they compute is computed by the code around them
        sure = views, only_views
        source = "; the low end counts only the views, which compute nothing"
    yield Opportunity(
        id="",
        rule="complex-numbers",
        kind="replacement operator",
        text="Compute with real and imaginary parts. Inductor generates no code for complex "
        "numbers, so each operator on them is a separate eager call. Operators on real tensors "
        "can be fused.",
        sure="likely",
        source=f"{_NEIGHBOURS}; the high end includes {views} bytes that Inductor counts for "
        f"complex views{facts.time_source(kernels)}{source}",
        kernels=tuple(k.id for k in kernels),
        **facts.place(n for k in computing for n in facts.nodes_of(k)),
        saved_bytes_low=low,
        saved_bytes_high=low + views,
        saved_us_low=facts.least_microseconds(*sure) if sure[1] else 0.0,
        saved_us_high=facts.microseconds(low + views, kernels),
        fewer_kernels=sum(max(k.calls, 1) for k in kernels) - 1 or None,
        after=_ROTATION if operators == {"mul"} else (),
    )


def _is_complex(facts: Facts, node: NodeFacts) -> bool:
    values = (node, *(facts.nodes[id] for id in node.inputs if id in facts.nodes))
    return any((value.dtype or "").startswith("complex") for value in values)


def _largest(facts: Facts, kernels: list[Kernel]) -> int:
    return max((b.bytes or 0 for k in kernels for b, _ in facts.written(k)), default=0)


def find_attention_by_hand(facts: Facts) -> Iterator[Opportunity]:
    """Matmul, softmax, matmul, with the whole matrix of scores in memory between them."""
    for kernel in facts.kernels:
        if not kernel.is_generated or not _is_softmax(kernel):
            continue
        into = [(b, w) for b, w in facts.read(kernel) if _are_products(w)]
        out = [(b, r) for b, r in facts.written(kernel) if _are_products(r)]
        scores = [b for b, _ in (*into, *out)]
        if not into or not out or not _is_square(out[0][0]) or kernel.is_backward:
            continue
        is_saved = facts.has_backward and not _is_returned(facts, kernel)
        if not all(_is_own(buffer) or (is_saved and buffer.kind == "output") for buffer in scores):
            continue
        if facts.gpu is None and max(buffer.bytes or 0 for buffer in scores) < _CACHED:
            continue
        own_scores = find_scores(facts.nodes_of(kernel), facts.nodes)
        if not own_scores.is_library:
            continue
        saved = sum(2 * (buffer.bytes or 0) for buffer in scores)
        concerned = [*into[0][1], kernel, *out[0][1]]
        place, before, after = _library_attention(facts, into[0][1], kernel, out[0][1])
        if own_scores.is_scaled_by_tensor:  # the library's scale is a number
            before, after = (), ()
        yield Opportunity(
            id="",
            rule="attention-by-hand",
            kind="rewrite" if before else "replacement operator",
            text="Call scaled_dot_product_attention on 4-D tensors (batch, heads, positions, "
            "width). It never stores the scores; this code writes and reads them before and "
            "after the softmax.",
            sure="likely",
            source="counted: the writes and reads of the scores before and after the softmax"
            + facts.time_source([kernel]),
            kernels=tuple(k.id for k in concerned),
            **place,
            saved_bytes_low=saved,
            saved_bytes_high=saved,
            # the matmuls are computed as before
            saved_us_low=facts.least_microseconds(saved, [kernel]),
            saved_us_high=facts.microseconds(saved, [kernel]),
            fewer_kernels=2 * max(kernel.calls, 1),
            before=before,
            after=after or (own_scores.call,),
        )


def _library_attention(
    facts: Facts, first: Sequence[Kernel], kernel: Kernel, last: Sequence[Kernel]
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """Where the values are multiplied, and that line before and after; no lines if unknown."""
    own = facts.nodes_of(kernel)
    first_nodes = [node for other in first for node in facts.nodes_of(other)]
    used = [node for other in last for node in facts.nodes_of(other)]
    softmax = facts.place(own)
    places = [(n.file, n.line) for n in (*first_nodes, *own, *used) if n.file and n.line]
    start = next(((n.file, n.line) for n in first_nodes if n.file and n.line), None)
    end = next(((n.file, n.line) for n in reversed(used) if n.file and n.line), None)
    shapes = [node.shape for node in own if base(node.target) in ("amax", "sum") and node.shape]
    if start is None or end is None or not shapes or {file for file, _ in places} != {start[0]}:
        return softmax, (), ()
    lines = [facts.line_at(start[0], number) for number in range(start[1], end[1] + 1)]
    texts = [line[1] for line in lines if line is not None and line[1].strip()]
    if None in lines or len(texts) != len(lines) or not lines:
        return softmax, (), ()
    dims = max(map(len, shapes))
    change = rewrite_attention(texts, dims) if 2 <= dims <= 4 else None
    if change is None:
        return softmax, (), ()
    number, before, after = change
    at = lines[number]
    place = {"line_id": at[0] if at else None, "file": start[0], "line": start[1] + number}
    return place, before, after


def _is_softmax(kernel: Kernel) -> bool:
    ops = {base(op) for op in kernel.ops}
    return "exp" in ops and "div" in ops and bool(ops & {"amax", "prepare_softmax_online"})


def _are_products(kernels: tuple[Kernel, ...]) -> bool:
    return bool(kernels) and all({base(op) for op in k.ops} & _PRODUCTS for k in kernels)


def _is_own(buffer: Buffer) -> bool:
    return buffer.kind == "intermediate"


def _is_returned(facts: Facts, kernel: Kernel) -> bool:
    """Whether the forward returns a result of a kernel, and does not only keep it."""
    report = facts.report
    names = report.nodes.columns.get("name", ())
    results = {names[report.node_row[id]] for id in kernel.nodes if id in report.node_row}
    return not facts.returned.isdisjoint(results)


def _is_square(buffer: Buffer) -> bool:
    """Whether a buffer can be scores: of a batch, or of many positions by many."""
    shape = buffer.shape or ()
    many = all(isinstance(size, int) and size >= _POSITIONS for size in shape)
    return len(shape) >= 3 or (len(shape) == 2 and many)


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


def _list_inputs(node: NodeFacts, by_id: Mapping[str, NodeFacts]) -> list[NodeFacts]:
    return [by_id[id] for id in node.inputs if id in by_id]


def _is_of_softmax(node: NodeFacts, by_id: Mapping[str, NodeFacts]) -> bool:
    return any(
        base(other.target) in _OF_SOFTMAX
        and (other.shape == node.shape or base(other.target) in _REDUCED)
        for other in _list_inputs(node, by_id)
    )


def _find_factor(node: NodeFacts, by_id: Mapping[str, NodeFacts]) -> list[NodeFacts]:
    """What scores are multiplied with: the smaller of two tensors."""
    inputs = _list_inputs(node, by_id)
    return (
        [] if len(inputs) != 2 else [min(inputs, key=lambda factor: _measure(factor.shape or ()))]
    )


def _masks(node: NodeFacts, by_id: Mapping[str, NodeFacts]) -> bool:
    inputs = _list_inputs(node, by_id)
    kinds = {base(other.target) for other in inputs}
    return (base(node.target) == "add" and len(inputs) == 2) or (
        base(node.target) == "where" and "sub" not in kinds
    )

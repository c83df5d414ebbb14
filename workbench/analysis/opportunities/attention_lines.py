"""Lines that compute attention by hand, rewritten to call `scaled_dot_product_attention`."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.breaks.broken_statement import is_alone, read_whole_number, replace_nodes

_CALL = "torch.nn.functional.scaled_dot_product_attention"
_MATMUL = ("matmul", "bmm")
_LAST_TWO = ({-1, -2}, {-1, 2}, {1, 2}, {2, 3}, {3, 2})


@dataclass(frozen=True)
class _Attention:
    query: str
    keys: str
    values: str
    mask: str | None
    scale: str


def rewrite_attention(
    lines: Sequence[str], dims: int
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """The line that multiplies with the values, before and after, and its place among the lines.

    `lines` are those of one function from the product of queries and keys to that line, with
    nothing but assignments of single names between. `dims` are the dimensions of the scores: the
    library is fast with four. None where it is written in another way.
    """
    plain = textwrap.dedent("\n".join(lines))
    whole = f"def _body():\n{textwrap.indent(plain, '    ')}"
    try:
        function = ast.parse(whole).body[0]
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef)
    body = function.body
    assigned: dict[str, ast.expr] = {}
    for statement in body[:-1]:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            return None
        assigned[target.id] = _filled(statement.value, assigned)
        if any(_is_stale(value, target.id) for value in assigned.values()):
            return None  # what was computed before means what had this name then
    last = body[-1]
    value = last.value if isinstance(last, ast.Assign | ast.Return) else None
    if value is None or last.lineno != last.end_lineno or not is_alone(last, whole):
        return None
    match = _attention_in(value, assigned)
    if match is None:
        return None
    product, attention = match
    changed = ast.unparse(replace_nodes(last, {product: _written(attention, dims)}))
    after = f"{lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]}{changed}"
    return len(lines) - 1, (lines[-1],), (after,)


def _is_stale(value: ast.expr, name: str) -> bool:
    """Whether what was computed is another thing now: its name was assigned, or it changes some."""
    return any(
        (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Attribute) and node.attr.endswith("_") and node.attr[-2:] != "__")
        for node in ast.walk(value)
    )


class _Filling(ast.NodeTransformer):
    def __init__(self, assigned: Mapping[str, ast.expr]):
        self._known = assigned

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._known.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


def _filled(value: ast.expr, assigned: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with what its names were assigned."""
    filled = _Filling(assigned).visit(ast.parse(ast.unparse(value), mode="eval").body)
    assert isinstance(filled, ast.expr)
    return filled


def _attention_in(
    value: ast.expr, assigned: Mapping[str, ast.expr]
) -> tuple[ast.expr, _Attention] | None:
    """The matmul of a softmax with values within an expression."""
    for node in ast.walk(value):
        sides = _product(node) if isinstance(node, ast.expr) else None
        if sides is None:
            continue
        scores = _softmax(_filled(sides[0], assigned))
        parts = None if scores is None else _scores(scores)
        if parts is not None and isinstance(node, ast.expr):
            query, keys, mask, scale = parts
            values = ast.unparse(_filled(sides[1], assigned))
            return node, _Attention(query, keys, values, mask, scale)
    return None


def _product(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[left, right]
        ) if name in _MATMUL:
            return left, right
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=[right]) if name in _MATMUL:
            return left, right
    return None


def _softmax(node: ast.expr) -> ast.expr | None:
    """The argument of the softmax over the last dimension."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "softmax":
        return None
    owner = ast.unparse(node.func.value)
    is_function = owner in ("torch", "F", "torch.nn.functional", "nn.functional", "functional")
    scores, rest = (
        (node.args[0], node.args[1:]) if is_function and node.args else (node.func.value, node.args)
    )
    words = {word.arg: word.value for word in node.keywords}
    dim = rest[0] if rest else words.get("dim")
    if words.keys() - {"dim"} or len(rest) > 1 or dim is None or read_whole_number(dim) != -1:
        return None
    return scores


def _scores(node: ast.expr) -> tuple[str, str, str | None, str] | None:
    """Queries, keys, mask and scale of scores; an added mask is not scaled."""
    mask = None
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="masked_fill"), args=[where, fill]):
            if "inf" not in ast.unparse(fill):
                return None
            mask, node = ast.unparse(_inverted(where)), inner
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            is_left = _scaled(left) is not None
            node, other = (left, right) if is_left else (right, left)
            mask = ast.unparse(other)
    scaled = _scaled(node)
    return None if scaled is None else (*scaled[:2], mask, scaled[2])


def _inverted(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return node.operand
    return ast.UnaryOp(ast.Invert(), node)


def _scaled(node: ast.expr) -> tuple[str, str, str] | None:
    """Queries, keys and the factor of their matmul."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for inner, factor in ((left, right), (right, left)):
                pair = _query_and_keys(inner)
                if pair is not None:
                    return (*pair, ast.unparse(factor))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            pair = _query_and_keys(left)
            if pair is not None:
                return (*pair, f"1 / ({ast.unparse(right)})")
        case _:
            pair = _query_and_keys(node)
            if pair is not None:
                return (*pair, "1.0")
    return None


def _query_and_keys(node: ast.expr) -> tuple[str, str] | None:
    sides = _product(node)
    if sides is None:
        return None
    query, turned = sides
    match turned:
        case ast.Attribute(value=keys, attr="mT" | "T"):
            return ast.unparse(query), ast.unparse(keys)
        case ast.Call(func=ast.Attribute(value=keys, attr="t"), args=[]):
            return ast.unparse(query), ast.unparse(keys)
        case ast.Call(func=ast.Attribute(value=keys, attr="transpose"), args=[a, b]):
            if {read_whole_number(a), read_whole_number(b)} in _LAST_TWO:
                return ast.unparse(query), ast.unparse(keys)
    return None


def _written(attention: _Attention, dims: int) -> ast.expr:
    """The call, on tensors of four dimensions."""
    parts = [attention.query, attention.keys, attention.values]
    more = "[None]" * (4 - dims)
    if more:
        parts = [f"({part}){more}" for part in parts]
    mask = "" if attention.mask is None else f", attn_mask={attention.mask}"
    text = f"{_CALL}({', '.join(parts)}{mask}, scale={attention.scale}){'[0]' * (4 - dims)}"
    return ast.parse(text, mode="eval").body

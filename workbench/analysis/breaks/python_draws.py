"""Random numbers that Python draws, drawn by a custom operator in the graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.breaks.branches import rewrite_branch
from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Rewrite,
    change_of,
    parse_expression,
    replace_expression,
    replace_nodes,
    replaced,
)
from workbench.analysis.breaks.host_calls import join_dotted

_TITLE = "Draw the number inside a custom operator"
_DRAWN = "A custom operator draws the same number at run time, from the same generator."
_SEVERAL = (
    "One custom operator draws the same numbers at run time, in the same order and from the same "
    "generator."
)
_WHOLE = {"randint", "randrange", "getrandbits", "integers"}
_REAL = {
    *("random", "uniform", "gauss", "normalvariate", "expovariate", "betavariate", "triangular"),
    *("gammavariate", "lognormvariate", "paretovariate", "vonmisesvariate", "weibullvariate"),
    *("rand", "randn", "normal", "standard_normal", "random_sample", "exponential", "beta"),
}
_OWNERS = ("random", "np.random", "numpy.random")
_PICKING = ("np.random.choice", "numpy.random.choice")
_INT64 = ", dtype=torch.int64"
_CONDITIONAL = ast.Lambda | ast.IfExp | ast.BoolOp | ast.comprehension | ast.NamedExpr


@dataclass(frozen=True)
class _Draw:
    """A call that draws: what stands in its place, and the tensor that it becomes.

    `shape` is that of an array; None for one number.
    """

    call: ast.Call
    outer: ast.expr
    is_whole: bool
    shape: int | None = None

    @property
    def text(self) -> str:
        """The call, as a number of Python where numpy picks one: its own are of float64."""
        text = ast.unparse(self.call)
        is_picked = join_dotted(self.call.func) in _PICKING
        return f"float({text})" if is_picked and not self.is_whole else text

    @property
    def name(self) -> str:
        return re.sub(r"[^0-9A-Za-z]+", "_", ast.unparse(self.call)).strip("_")

    @property
    def dtype(self) -> str:
        return _INT64 if self.is_whole else ""


def rewrite_random(broken: BrokenStatement) -> Iterator[Rewrite]:
    """An operator that draws the numbers from the same generator while the compiled code runs."""
    statement = broken.statement
    draws = _draws(statement)
    if not draws:
        return
    together = _together(statement, draws) if len(draws) > 1 else None
    if together is not None:
        yield together
        return
    draw = draws[0]
    name = f"{draw.name}_drawn"
    shape = "()" if draw.shape is None else f"({draw.shape},)"
    above = write_operator(name, f"torch.tensor({draw.text}{draw.dtype})", f"{shape}{draw.dtype}")
    new = parse_expression(f"{name}()")
    if isinstance(statement, ast.If):
        tested = replaced(statement, draw.outer, new)
        chosen = rewrite_branch(tested, broken.rest, broken.tree)
        if chosen is not None:
            yield Rewrite(_TITLE, _DRAWN, chosen.first, chosen.last, chosen.code, above)
        return
    rewrite = replace_expression(_TITLE, _DRAWN, statement, draw.outer, new, above)
    if rewrite is not None:
        yield rewrite


def _draws(statement: ast.stmt) -> list[_Draw]:
    """The draws of a statement in the order in which Python makes them."""
    draws = []
    for node in ast.walk(statement):
        drawn = _drawn(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and drawn is not None:
            outer = next((part for part in ast.walk(statement) if _is_number_of(part, node)), node)
            assert isinstance(outer, ast.expr)
            draws.append(_Draw(node, outer, *drawn))
    return sorted(draws, key=lambda draw: (draw.call.lineno, draw.call.col_offset))


def _together(statement: ast.stmt, draws: Sequence[_Draw]) -> Rewrite | None:
    """One operator for several numbers of one kind, each of which is drawn in any case."""
    is_plain = isinstance(statement, ast.Assign | ast.AugAssign | ast.Return | ast.Expr)
    is_sure = not any(isinstance(node, _CONDITIONAL) for node in ast.walk(statement))
    kinds = {(draw.is_whole, draw.shape) for draw in draws}
    if not is_plain or not is_sure or len(kinds) > 1 or draws[0].shape is not None:
        return None
    names = [f"drawn_{number}" for number in range(len(draws))]
    used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    if used & {*names}:
        return None
    name = f"{draws[0].name}_drawn_{len(draws)}"
    dtype = draws[0].dtype
    values = ", ".join(draw.text for draw in draws)
    above = write_operator(name, f"torch.tensor([{values}]{dtype})", f"({len(draws)},){dtype}")
    pairs = zip(draws, names, strict=True)
    changed = replace_nodes(
        statement, {draw.outer: ast.Name(variable, ast.Load()) for draw, variable in pairs}
    )
    first = f"{', '.join(names)} = {name}().unbind()"
    title = "Draw the random numbers inside a custom operator"
    return change_of(title, _SEVERAL, statement, first, ast.unparse(changed), above=above)


def write_operator(name: str, value: str, fake: str) -> tuple[str, ...]:
    """The lines of an operator without inputs that gives a tensor."""
    return (
        f'@torch.library.custom_op("host::{name}", mutates_args=(), schema="() -> Tensor",',
        "                         tags=(torch.Tag.nondeterministic_seeded,))",
        f"def {name}():",
        f"    return {value}",
        f"{name}.register_fake(lambda: torch.empty({fake}))",
    )


def _drawn(call: ast.Call) -> tuple[bool, int | None] | None:
    """Whether a call draws whole numbers, and how many for an array; None for other calls."""
    owner, _, last = (join_dotted(call.func) or "").rpartition(".")
    if owner not in _OWNERS:
        return None
    try:
        args = [_literal(arg) for arg in call.args]
        args += [_literal(keyword.value) for keyword in call.keywords]
    except ValueError:  # an argument of the function's own: the operator would have to take it
        return None
    is_numpy = owner != "random"
    match last, args:
        case "permutation", [int(count)] if is_numpy:
            return True, count
        case "sample", [list() | tuple() | range() as items, int(count)] if _kinds(items) == {int}:
            return True, count
        case "choice", [int()] if is_numpy:
            return True, None
        case "choice", [list() | tuple() | range() as items]:
            kinds = _kinds(items)
            return (kinds == {int}, None) if kinds in ({int}, {float}) else None
    if last in _WHOLE:
        return True, None
    has_size = any(keyword.arg == "size" for keyword in call.keywords)
    is_array = has_size or (last in ("rand", "randn", "random_sample") and bool(call.args))
    return (False, None) if last in _REAL and not is_array else None


def _literal(node: ast.expr) -> object:
    """The value of a constant or of a range of constants; raises `ValueError` for others."""
    match node:
        case ast.Call(ast.Name("range"), args, []):
            return range(*(int(ast.literal_eval(arg)) for arg in args))
    value: object = ast.literal_eval(node)
    return value


def _kinds(items: Sequence[object]) -> set[type]:
    return {type(item) for item in items}


def _is_number_of(node: ast.AST, inner: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Name("float" | "int"), [value], []):
            return value is inner
    return False

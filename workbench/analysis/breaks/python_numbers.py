"""Numbers, counts and lists that Python takes out of tensors, kept as tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.breaks.broken_statement import BrokenStatement, Rewrite, change_of, replaced

_NUMBER = (
    "A 0-d tensor gives the same results as a number and stays in the graph. It is detached: like "
    "a number, it has no gradient."
)
_WHOLE = f"{_NUMBER} `.long()` truncates, as int() does."
_REAL = f"{_NUMBER} Multiplying by 1.0 makes it a float, as float() does."
_COUNTED = (
    "The shape of the result is static; with bincount, it depends on the data. Every value must "
    "be less than {}."
)
_LISTED = (
    "A tensor gives the same results as a list of its values and stays in the graph. It is "
    "detached: like a list, it has no gradient."
)
_SCALARS = "capture_scalar_outputs"
_TO_HOST = ("tolist", "numpy", "cpu")
_SIZES = {
    *("arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn"),
    *("randperm", "zeros", "tensor", "narrow", "split", "chunk", "topk", "tril_indices"),
    *("unfold", "pad", "interpolate", "one_hot", "repeat_interleave", "roll", "select"),
    *("view", "reshape", "expand", "repeat", "unflatten", "new_empty", "new_full", "new_ones"),
    *("new_zeros", "range", "len", "int", "float", "bool", "str", "format"),
}


def number_change(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Rewrite | None:
    """Leave out `.item()`, `float()` or `int()` where only arithmetic is done with the number."""
    calls = [(node, kept) for node in ast.walk(statement) if (kept := _kept(node))]
    if len(calls) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    call, (value, why) = calls[0]
    if not _Uses(tree, _parents(tree)).compute(call):
        return None
    code = ast.unparse(replaced(statement, call, value))
    return change_of("Keep the value as a tensor", why, statement, code)


def _kept(node: ast.AST) -> tuple[ast.expr, str] | None:
    """The tensor that has the value of a call such as `x.item()` or `int(x)`, and why."""
    match node:
        case ast.Call(ast.Attribute(value, "item"), [], []):
            return _detached(value), _NUMBER
        case ast.Call(ast.Name("int"), [ast.Call() | ast.Name() as value], []):
            return _method(value, "long"), _WHOLE
        case ast.Call(ast.Name("float"), [ast.Call() | ast.Name() as value], []):
            return ast.BinOp(_detached(value), ast.Mult(), ast.Constant(1.0)), _REAL
    return None


def _detached(value: ast.expr) -> ast.expr:
    return _method(value, "detach")


def _method(value: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), list(args), [])


def _parents(tree: ast.AST) -> Mapping[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


@dataclass(frozen=True)
class _Uses:
    """Where the values of a function go."""

    tree: ast.AST
    parents: Mapping[ast.AST, ast.AST]

    def compute(self, node: ast.AST) -> bool:
        """Whether a number goes only through arithmetic into other values, never into a size."""
        top = self._computed(node)
        match self.parents.get(top):
            case ast.Assign([ast.Name(name)], value) if value is top:
                uses = self._read(name)
                if top is node:
                    return bool(uses) and all(self._is_operand(use) for use in uses or [])
                return uses is not None and not any(self._is_size(use, (name,)) for use in uses)
            case ast.Assign() | ast.AugAssign() | ast.Return() | ast.Tuple():
                return top is not node
            case ast.Call(function) as call if top is not node and top in call.args:
                return _takes_tensors(function)
        return False

    def _computed(self, node: ast.AST) -> ast.AST:
        """The whole arithmetic that a value is an operand of."""
        while isinstance(self.parents.get(node), ast.BinOp | ast.UnaryOp):
            node = self.parents[node]
        return node

    def _is_operand(self, node: ast.AST) -> bool:
        return self._computed(node) is not node and self.compute(node)

    def _read(self, name: str) -> list[ast.Name] | None:
        """Where a name is read, or None where it is given more than one value."""
        uses = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        named = [use for use in uses if use.id == name]
        loads = [use for use in named if isinstance(use.ctx, ast.Load)]
        return loads if len(named) == len(loads) + 1 else None

    def _is_size(self, node: ast.AST, visited: tuple[str, ...]) -> bool:
        """Whether what was computed with a number is a size, a place or a choice somewhere."""
        top = self._computed(node)
        match self.parents.get(top):
            case ast.Subscript(_, index):
                return index is top
            case ast.Slice():
                return True
            case ast.Call(ast.Name(name) | ast.Attribute(_, name)) as call if top in call.args:
                return name in _SIZES
            case ast.Assign([ast.Name(name)]) if name not in visited:
                return any(self._is_size(use, (*visited, name)) for use in self._read(name) or [])
        return False


def _takes_tensors(function: ast.expr) -> bool:
    """Whether it is a function of torch that takes a tensor there, and no size."""
    match function:
        case ast.Attribute(ast.Name("torch" | "F") | ast.Attribute(_, "functional"), name):
            return name not in _SIZES
    return False


def list_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """What keeps counts a tensor, or else lists of numbers."""
    changes = list(_count_changes(broken))
    yield from changes or _list_changes(broken)


def _count_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`one_hot(…).sum(0)` for `bincount(…, minlength=…)`: as a tensor, or with its `.tolist()`."""
    statement = broken.statement
    calls = [(node, counted) for node in ast.walk(statement) if (counted := _counted(node))]
    if len(calls) != 1 or hasattr(statement, "body"):
        return
    call, (values, length) = calls[0]
    title = "Count with one_hot(…).sum(0)"
    why = _COUNTED.format(ast.unparse(length))
    hot = ast.parse("torch.nn.functional.one_hot", mode="eval").body
    new = _method(ast.Call(hot, [values, length], []), "sum", ast.Constant(0))
    whole = _to_host(statement, call)
    yield change_of(title, why, statement, ast.unparse(replaced(statement, whole, new)))
    if whole is not call:
        code = ast.unparse(replaced(statement, call, new))
        yield change_of(title, why, statement, code, options=(_SCALARS,))


def _list_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """The tensor itself in place of `.tolist()`, or its parts where they get names."""
    statement = broken.statement
    lists = [node for node in ast.walk(statement) if _is_list(node)]
    if len(lists) != 1 or not isinstance(statement, ast.Assign | ast.Return):
        return
    (call,) = lists
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    new = _method(call.func.value, "detach")
    match statement:
        case ast.Assign([ast.Tuple() | ast.List()], value) if value is call:
            new = _method(new, "unbind")
    code = ast.unparse(replaced(statement, call, new))
    yield change_of("Keep the values as a tensor", _LISTED, statement, code)


def _is_list(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(_, "tolist"), [], []):
            return True
    return False


def _counted(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """What a call of bincount counts, and the smallest length of what it gives."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), "bincount"), [values, *rest], keywords):
            pass
        case ast.Call(ast.Attribute(values, "bincount"), [*rest], keywords):
            pass
        case _:
            return None
    named = {keyword.arg: keyword.value for keyword in keywords}
    length = named.pop("minlength", rest[1] if len(rest) == 2 else None)
    weights = named.pop("weights", rest[0] if rest else None)
    is_counting = weights is None or (isinstance(weights, ast.Constant) and weights.value is None)
    return (values, length) if is_counting and length is not None and not named else None


def _to_host(statement: ast.stmt, call: ast.AST) -> ast.AST:
    """The call with `.cpu()`, `.tolist()` and `.numpy()` behind it."""
    while True:
        outer = next((node for node in ast.walk(statement) if _is_moved(node, call)), None)
        if outer is None:
            return call
        call = outer


def _is_moved(node: ast.AST, inner: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(value, name), [], []):
            return value is inner and name in _TO_HOST
    return False

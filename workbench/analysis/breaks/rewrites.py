"""Suggested small rewrites of lines that break the graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from workbench.analysis.breaks.branches import (
    list_assignments,
    negated,
    read_first,
    rewrite_branch,
    rewrite_expression,
    where,
    write_as_tensor,
)
from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Cure,
    Rewrite,
    change_of,
    find_broken_statements,
    parse_expression,
    parsed,
    replace_expression,
    replaced,
)
from workbench.analysis.breaks.host_calls import rewrite_clock, rewrite_message, rewrite_progress
from workbench.analysis.breaks.host_values import copy_changes, read_changes, rewrite_unused
from workbench.analysis.breaks.indices import rewrite_index
from workbench.analysis.breaks.python_draws import rewrite_random
from workbench.analysis.breaks.python_numbers import list_changes, number_change
from workbench.analysis.changes.change import Change, Setting
from workbench.report import Break, Report
from workbench.report.rows import REFUSED_GRAPH

_TITLE = "Pick with index_select"
_PICKED = (
    "The tensors are stacked, and the index selects one at run time. The tensors need the same "
    "shape and dtype, and the index must not be negative."
)


def rewrite_table_lookup(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`torch.stack(…).index_select(…)` for `table[index]`, if the table is a literal."""
    for node in ast.walk(broken.statement):
        match node:
            case ast.Subscript(ast.Name(name), index) if not isinstance(index, ast.Constant):
                table = _table(broken.tree, name)
            case _:
                continue
        if table is None or isinstance(index, ast.Slice | ast.Tuple):
            continue
        picked = f"({ast.unparse(_kept(index))}).long().reshape(1)"
        new = parse_expression(f"torch.stack({table}).index_select(0, {picked}).squeeze(0)")
        rewrite = replace_expression(_TITLE, _PICKED, broken.statement, node, new)
        if rewrite is not None:
            yield rewrite
        return


def _kept(index: ast.expr) -> ast.expr:
    """An index as a tensor, without what makes it a number."""
    match index:
        case ast.Call(ast.Name("int" | "bool"), [value], []):
            return _kept(value)
        case ast.Call(ast.Attribute(value, "item"), [], []):
            return _kept(value)
        case ast.BinOp(left, sign, right):
            return ast.BinOp(_kept(left), sign, _kept(right))
    return write_as_tensor(index)


def _table(tree: ast.AST, name: str) -> str | None:
    """The values of a table as a sequence; None if another value is assigned to it."""
    stored = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and stored and node.targets == stored
    ]
    match values:
        case [ast.List(items) | ast.Tuple(items)] if items and len(stored) == 1:
            return name
        case [ast.Dict(keys, items)] if items and len(stored) == 1:
            numbers = [key.value for key in keys if isinstance(key, ast.Constant)]
            is_counted = numbers == list(range(len(items)))  # False and True are 0 and 1
            return f"list({name}.values())" if is_counted else None
    return None


_KEPT = (
    "The condition becomes an assertion in the graph. On a GPU, the assertion fails later than "
    "the line that caused it, and the CUDA context becomes unusable."
)
_ASSERTED = "Assert a tensor"
_ASYNC = "Check with torch._assert_async"
_CHECK = "torch._assert_async({}, {})"
_RAISES = "It raises RuntimeError instead of {}."
_COMPILED = "Only compiled code does."


def check_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`assert ~t.any()` and `torch._assert_async` for an assertion, or for an `if` that raises."""
    if is_caught(broken.tree, broken.statement):  # by its class, which is another one in the graph
        return
    match broken.statement:
        case ast.Assert(test, message) as statement:
            condition, constant = write_as_tensor(test), _constant(message)
            changed = ast.unparse(ast.Assert(condition, constant))
            why = f"{_KEPT} {_RAISES.format('AssertionError')}"
            if changed != ast.unparse(statement):
                yield change_of(_ASSERTED, f"{why} {_COMPILED}", statement, changed)
            yield change_of(_ASYNC, why, statement, _checked(condition, constant))
        case ast.If(test, [ast.Raise(ast.expr() as raised)], []) as statement:
            name, message = _raised(raised)
            why = f"{_KEPT} {_RAISES.format(name)}"
            code = _checked(write_as_tensor(negated(test)), _constant(message))
            yield change_of(_ASYNC, why, statement, code)


def _checked(condition: ast.expr, message: ast.expr | None) -> str:
    constant = ast.Constant("an assertion failed") if message is None else message
    return _CHECK.format(ast.unparse(condition), ast.unparse(constant))


def _raised(raised: ast.expr) -> tuple[str, ast.expr | None]:
    """The name of what is raised, and its message."""
    match raised:
        case ast.Call(function, [message, *_]):
            return ast.unparse(function), message
        case ast.Call(function):
            return ast.unparse(function), None
    return ast.unparse(raised), None


def _constant(message: ast.expr | None) -> ast.expr | None:
    """A message as a constant: what it would fill in stands there by its code.

    A graph holds no text that is put together while it runs.
    """
    if message is None or isinstance(message, ast.Constant):
        return message
    if not isinstance(message, ast.JoinedStr):
        return ast.Constant(ast.unparse(message))
    parts = (
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(_value(part))}}}"
        for part in message.values
    )
    return ast.Constant("".join(parts))


def _value(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) else part


_VALUE = ("Data-dependent branching", "Unsupported Tensor.item() call", "Data dependent operator")
_SHAPE = ("Dynamic shape operator", "Tensor.tolist()")
_MASKED = "Zeros do not change the sum, and the shape no longer depends on data."
_Rule = Callable[[BrokenStatement], Iterator[Rewrite]]
_Rewriting = Callable[[ast.stmt, Sequence[ast.stmt], ast.AST], Rewrite | None]


def rewrite_of(report: Report, item: Break) -> Cure | None:
    """The first change that needs only its own lines; None if none is known.

    It needs no option, nothing above the definition, and is not the `else` of an `if`.
    """
    return next((cure for cure in find_rewrites(report, item) if _is_whole(cure.change)), None)


def _is_whole(change: Change) -> bool:
    """Whether the lines are all that it takes, and are statements by themselves."""
    is_else = change.after[0].lstrip().startswith(("else:", "elif "))
    return not (change.above or change.settings or is_else)


def find_rewrites(report: Report, item: Break) -> Iterator[Cure]:
    """The alternative changes of lines that may remove this break."""
    for broken in find_broken_statements(report, item):
        rewrites = [
            written
            for rule in _rules(item)
            for rewrite in rule(broken)
            if (written := _write_cure(_placed(rewrite, broken), broken, item.file)) is not None
        ]
        if rewrites:
            yield from {
                (cure.change.after, cure.change.settings, cure.change.above): cure
                for cure in rewrites
            }.values()
            return


def _only(change: _Rewriting) -> _Rule:
    """A rule of at most one change."""

    def rule(broken: BrokenStatement) -> Iterator[Rewrite]:
        rewrite = change(broken.statement, broken.rest, broken.tree)
        if rewrite is not None:
            yield rewrite

    return rule


def _rules(item: Break) -> list[_Rule]:
    if item.kind.startswith(_VALUE):
        first = _only(_first_of(rewrite_branch, rewrite_while, rewrite_expression, number_change))
        others = [
            check_changes,
            rewrite_message,
            list_changes,
            rewrite_random,
            rewrite_table_lookup,
        ]
        return [first, *others]
    if item.kind == REFUSED_GRAPH:
        return [rewrite_index]
    if item.kind.startswith(_SHAPE):
        return [_only(rewrite_masked_sum), list_changes]
    calls = [rewrite_message, rewrite_unused, rewrite_clock, rewrite_progress, rewrite_random]
    return [*calls, copy_changes, read_changes]


def _first_of(*changes: _Rewriting) -> _Rewriting:
    """The first of several changes that there is."""

    def first(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Rewrite | None:
        rewrites = (change(statement, rest, tree) for change in changes)
        return next((rewrite for rewrite in rewrites if rewrite is not None), None)

    return first


def _placed(change: Rewrite, broken: BrokenStatement) -> Rewrite:
    """A change of an `elif`: its head stays one, and all of it is what `else` does."""
    if not broken.is_elif:
        return change
    if change.last < (broken.statement.end_lineno or change.last):
        return replace(change, code=(f"el{change.code[0]}", *change.code[1:]))
    return replace(change, code=("else:", *(f"    {line}" for line in change.code)))


def _write_cure(rewrite: Rewrite, broken: BrokenStatement, file: str) -> Cure | None:
    """The rewrite with the lines of its file; None if the result is not valid code."""
    start = ["def f():", *(["    if 1:", "        pass"] if broken.is_elif else [])]
    inside = "\n".join([*start, *(f"    {line}" for line in rewrite.code)])
    if parsed(inside) is None and parsed(f"{inside}\n        pass") is None:  # a head
        return None
    edit = broken.edit(file, rewrite.first, rewrite.last, rewrite.code)
    settings = tuple(Setting(name, True) for name in rewrite.options)
    return Cure(
        "rewrite", f"{rewrite.title}. {rewrite.why}", Change((edit,), rewrite.above, (), settings)
    )


def rewrite_masked_sum(
    statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST
) -> Rewrite | None:
    """`torch.where(x > 0, x, 0).sum()` for `x[x > 0].sum()`."""
    sums = [(node, picked) for node in ast.walk(statement) if (picked := _summed(node))]
    if len(sums) != 1 or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        return None
    call, picked = sums[0]
    zero = where(picked.slice, picked.value, ast.Constant(0))
    total = ast.Call(ast.Attribute(zero, "sum", ast.Load()), [], [])
    code = ast.unparse(replaced(statement, call, total))
    return change_of("Replace masked values with zeros before the sum", _MASKED, statement, code)


def _summed(node: ast.AST) -> ast.Subscript | None:
    """What a node such as `x[x > 0].sum()` adds up."""
    match node:
        case ast.Call(ast.Attribute(ast.Subscript(_, ast.Compare()) as picked, "sum"), [], []):
            return picked
    return None


def is_caught(tree: ast.Module, statement: ast.stmt) -> bool:
    """Whether something in its function catches what a statement raises, of whatever class."""
    return any(
        statement in set(ast.walk(inner))
        for node in ast.walk(tree)
        if (isinstance(node, ast.Try) and node.handlers)
        or (isinstance(node, ast.With) and "suppress" in ast.unparse(node.items[0]))
        for inner in node.body
    )


_LOOP = (
    "The condition and the body become functions; torch runs the body until the condition is "
    "false. Loop variables must keep their shape and dtype. Not every torch release supports "
    "gradients through such a loop."
)


def rewrite_while(statement: ast.stmt, rest: Sequence[ast.stmt], tree: ast.AST) -> Rewrite | None:
    """`torch.while_loop` for a loop whose body is assignments of names."""
    if not isinstance(statement, ast.While) or statement.orelse:
        return None
    body = list_assignments(statement.body)
    if not body:
        return None
    assigned = {name for name, _ in body}
    before = _assigned_before(tree, statement)
    later = {name for name in _names(tree, after=statement.end_lineno or 0) if name in assigned}
    names = sorted((read_first(body) | _read(statement.test) | later) & assigned)
    if not names or not {*names} <= before:
        return None
    whole = _in_parentheses(names)
    counters = _numbers_before(tree, statement)
    # a number would be a constant of the graph, and torch refuses a loop that changes one
    start = _in_parentheses([f"torch.as_tensor({n})" if n in counters else n for n in names])
    code = [
        f"def goes_on({', '.join(names)}):",
        f"    return {ast.unparse(write_as_tensor(statement.test))}",
        f"def once({', '.join(names)}):",
        *(f"    {line}" for stmt in statement.body for line in _in_new_name(stmt).split("\n")),
        f"    return {whole}",
        f"{whole} = torch.while_loop(goes_on, once, {start})",
    ]
    return change_of("Loop with torch.while_loop", _LOOP, statement, *code)


def _in_parentheses(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _in_new_name(statement: ast.stmt) -> str:
    """A statement of the body, `n = n + 1` for `n += 1`, which would change what goes in."""
    match statement:
        case ast.AugAssign(ast.Name(name) as target, operator, value):
            changed = ast.BinOp(ast.Name(name, ast.Load()), operator, value)
            return ast.unparse(ast.Assign([target], changed, lineno=statement.lineno))
        case _:
            return ast.unparse(statement)


def _numbers_before(tree: ast.AST, statement: ast.stmt) -> set[str]:
    """The names that were last given a number above a statement."""
    by_name: dict[str, bool] = {}
    above = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and n.lineno < statement.lineno]
    for node in sorted(above, key=lambda assignment: assignment.lineno):
        for target in node.targets:
            if isinstance(target, ast.Name):
                is_number = isinstance(node.value, ast.Constant) and type(node.value.value) in (
                    int,
                    float,
                )
                by_name[target.id] = is_number
    return {name for name, is_number in by_name.items() if is_number}


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _names(tree: ast.AST, *, after: int) -> set[str]:
    """The names that are read below a line."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno > after
    }


def _assigned_before(tree: ast.AST, statement: ast.stmt) -> set[str]:
    """The arguments, and the names that have a value above a statement."""
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < statement.lineno
    }

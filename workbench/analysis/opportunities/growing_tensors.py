"""Tensors that grow by `torch.cat` in each step, which copies all earlier values."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.breaks.broken_statement import (
    is_alone,
    parsed,
    read_whole_number,
    replace_nodes,
)
from workbench.analysis.fusion.traffic import NodeFacts, select_nodes
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.number_text import plural

_FEW = 3
"""Up to so many calls are left alone: a list would be longer than what it saves."""
_EXAMPLE = ("parts.append(new)  # in the loop", "result = torch.cat(parts, dim)  # after it")


def find_growing_tensors(facts: Facts) -> Iterator[Opportunity]:
    """Results of `cat` that only another `cat` along the same dimension reads whole."""
    owners = {id: kernel for kernel in facts.kernels for id in kernel.nodes}
    for cats, inner in _chains(facts):
        kernels = {k.id: k for node in cats if (k := owners.get(node.id)) is not None}
        copied = [node for node in cats if node.id in inner]
        is_read = any(inner[node.id] for node in copied)
        # what reads the last step alone is computed in one kernel with the copies where it is
        # small, and in many without them: measured, they take as long
        if not kernels or (is_read and len(kernels) == 1):
            continue
        saved = sum(2 * (node.bytes or 0) for node in copied)
        if not saved:
            continue
        place, before, after = _rewrite(facts, cats)
        written = list(kernels.values())
        yield Opportunity(
            id="",
            rule="tensor-that-grows",
            kind="rewrite" if before else "replacement operator",
            text="Collect the parts in a list and call torch.cat once, after the loop. Now, "
            f"{plural(len(cats), 'call')} of torch.cat copy "
            f"{plural(len(copied), 'intermediate result')} that nothing else reads in full.",
            sure="likely",
            source="counted: one write and one read of each intermediate result"
            + facts.time_source(written),
            kernels=tuple(kernel.id for kernel in written),
            **place,
            saved_bytes_low=saved,
            saved_bytes_high=saved,
            # what is computed in the same kernels is computed as before
            saved_us_low=facts.least_microseconds(saved, written),
            saved_us_high=facts.microseconds(saved, written),
            before=before,
            after=after or _EXAMPLE,
        )


def _rewrite(
    facts: Facts, cats: list[NodeFacts]
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """The loop before and after, where all of them are one line of it; no lines if unknown."""
    place = facts.place(cats)
    if not place or len({(node.file, node.line) for node in cats}) > 1:
        return place, (), ()
    start, lines = facts.function_at(place["file"], place["line"])
    change = rewrite_cat(lines, place["line"] - start)
    if change is None:
        return place, (), ()
    number, before, after = change
    at = facts.line_at(place["file"], start + number)
    place = {"line_id": at[0] if at else None, "file": place["file"], "line": start + number}
    return place, before, after


def _chains(facts: Facts) -> Iterator[tuple[list[NodeFacts], Mapping[str, bool]]]:
    """The calls of one result, the last one last; which of them are inner, and read in parts."""
    joins = {node.id: node for node in facts.nodes.values() if base(node.target) == "cat"}
    if len(joins) <= _FEW:
        return
    nodes = select_nodes(facts.report, "graph", {id.partition(":")[0] for id in joins})
    readers: dict[str, list[NodeFacts]] = {id: [] for id in joins}
    for node in nodes.values():
        for id in readers.keys() & set(node.inputs):
            readers[id].append(node)
    into: dict[str, str] = {}
    inner: dict[str, bool] = {}
    for id, node in joins.items():
        parts = [nodes[part] for part in node.inputs if part in nodes]
        cats = [reader for reader in readers[id] if reader.id in joins]
        if len(cats) == 1 and _is_copied(node, parts, cats[0], readers[id]):
            into[id], inner[id] = cats[0].id, len(readers[id]) > 1
    groups: dict[str, list[NodeFacts]] = {}
    for id, node in joins.items():
        last = id
        while last in into:
            last = into[last]
        groups.setdefault(last, []).append(node)
    for group in groups.values():
        if len(group) > _FEW:
            yield group, inner


def _is_copied(
    node: NodeFacts, parts: list[NodeFacts], into: NodeFacts, readers: list[NodeFacts]
) -> bool:
    """Whether a result is joined again at its own dimension, and read by steps at most."""
    dims = {_grown(part, node) for part in parts} | {_grown(node, into)}
    dim = dims.pop() if len(dims) == 1 else None
    if dim is None:
        return False
    return all(reader is into or _is_a_step(reader, node, parts[-1], dim) for reader in readers)


def _grown(part: NodeFacts, whole: NodeFacts) -> int | None:
    """The only dimension in which a result is larger than a part of it."""
    if not part.shape or not whole.shape or len(part.shape) != len(whole.shape):
        return None
    pairs = enumerate(zip(part.shape, whole.shape, strict=True))
    dims = [dim for dim, (one, all_) in pairs if one != all_]
    return dims[0] if len(dims) == 1 else None


def _is_a_step(reader: NodeFacts, whole: NodeFacts, newest: NodeFacts, dim: int) -> bool:
    """Whether it reads no more of a result than what was added last."""
    rest = [size for at, size in enumerate(whole.shape or ()) if at != dim]
    shape, added = list(reader.shape or ()), (newest.shape or ())[dim]
    if base(reader.target) == "select":
        return shape == rest
    if base(reader.target) != "slice" or len(shape) != len(rest) + 1:
        return False
    size = shape.pop(dim)
    return shape == rest and isinstance(size, int) and isinstance(added, int) and size <= added


_CALLS = ("torch.cat", "torch.concat", "torch.concatenate")


@dataclass(frozen=True)
class _Growing:
    """`name = torch.cat([name, *added], dim)`."""

    statement: ast.Assign
    name: str
    added: list[ast.expr]
    dim: int

    @property
    def parts(self) -> str:
        return f"{self.name}_parts"


def rewrite_cat(
    lines: Sequence[str], number: int
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """The loop around a line of a function, before and after, and its place among the lines.

    The line has to be `x = torch.cat([x, …], dim)`, and the loop to read `x` nowhere else but for
    its last step, as in `x[:, -1:]`. None where it is written in another way, or where the loop
    changes something in place: a list would hold what was changed afterwards.
    """
    text = textwrap.dedent("\n".join(lines))
    plain, tree = text.split("\n"), parsed(text)
    if tree is None:
        return None
    for loop in ast.walk(tree):  # from the outside in
        if not isinstance(loop, ast.For | ast.While) or loop.orelse:
            continue
        growing = next((g for s in ast.walk(loop) if (g := _growing(s, number + 1))), None)
        if growing is None or loop.end_lineno is None or not _is_plain(tree, loop, growing):
            continue
        if not is_alone(growing.statement, text):
            continue
        steps = [s for node in _inside(loop) if (s := _last_step(node, growing)) is not None]
        if len(steps) != sum(_is_name(node, growing.name) for node in _inside(loop)) - 2:
            continue  # of the statement: what is assigned and what is joined
        first, end = loop.lineno - 1, loop.end_lineno
        changed = _changed(plain, loop, growing, steps)
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        start = plain[first][: len(plain[first]) - len(plain[first].lstrip())]
        changed = [
            f"{start}{growing.parts} = [{growing.name}]",
            *changed,
            f"{start}{growing.name} = torch.cat({growing.parts}, {growing.dim})",
        ]
        shift = indent[len(start) :]
        after = tuple(f"{shift}{line}" if line.strip() else line for line in changed)
        return first, tuple(lines[first:end]), after
    return None


def _growing(node: ast.AST, line: int) -> _Growing | None:
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=called,
                args=[ast.List(elts=elements) | ast.Tuple(elts=elements), *rest],
                keywords=words,
            ),
            lineno=first,
        ) if ast.unparse(called) in _CALLS and first <= line <= (node.end_lineno or first):
            named = {word.arg: word.value for word in words}
            dims = [*rest, *named.values()] or [ast.Constant(0)]
            if named.keys() - {"dim", "axis"} or len(dims) > 1 or len(elements) < 2:
                return None
            dim, added = read_whole_number(dims[0]), elements[1:]
            is_own = _is_name(elements[0], name)
            if dim is None or not is_own or any(isinstance(e, ast.Starred) for e in added):
                return None
            return _Growing(node, name, added, dim)
    return None


def _inside(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """What runs in each step: a `for` asks for its items once."""
    for part in (*loop.body, *([loop.test] if isinstance(loop, ast.While) else [])):
        yield from ast.walk(part)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_plain(tree: ast.Module, loop: ast.For | ast.While, growing: _Growing) -> bool:
    """Whether nothing in the loop changes a tensor in place, and no function reads the name."""
    for node in _inside(loop):
        match node:
            case ast.AugAssign() | ast.Global() | ast.Nonlocal() | ast.Lambda():
                return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case ast.Subscript(ctx=ast.Store()) | ast.keyword(arg="out"):
                return False
            case ast.Attribute(attr=name) if name.endswith("_") and not name.endswith("__"):
                return False
    is_taken = any(_is_name(node, growing.parts) for node in ast.walk(tree))
    return not is_taken and not (isinstance(loop, ast.For) and _is_name(loop.target, growing.name))


def _last_step(node: ast.AST, growing: _Growing) -> ast.expr | None:
    """The `x` of `x[:, -1]` or `x[:, -1:]`, at the dimension in which `x` grows."""
    if not isinstance(node, ast.Subscript) or not _is_name(node.value, growing.name):
        return None
    index = ast.unparse(node.slice).strip("()").replace(" ", "")
    whole = ":," * growing.dim if growing.dim >= 0 else "...,"
    is_last = growing.dim >= -1 and index in (f"{whole}-1", f"{whole}-1:")
    return node.value if is_last else None


def _changed(
    plain: list[str], loop: ast.For | ast.While, growing: _Growing, steps: list[ast.expr]
) -> list[str]:
    """The lines of the loop with the statement and the reads of the last step replaced."""
    statement, lines, last = growing.statement, list(plain), f"{growing.parts}[-1]"
    for node in sorted(steps, key=lambda step: (step.lineno, step.col_offset), reverse=True):
        text = lines[node.lineno - 1].encode()
        begin, end = node.col_offset, node.end_col_offset or 0
        lines[node.lineno - 1] = (text[:begin] + last.encode() + text[end:]).decode()
    swapped: dict[ast.AST, ast.AST] = {step: ast.Name(last) for step in steps}
    added = [ast.unparse(replace_nodes(ast.Expr(value), swapped)) for value in growing.added]
    listed = ", ".join(added)
    call = f"append({listed})" if len(added) == 1 else f"extend([{listed}])"
    line = plain[statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    lines[statement.lineno - 1 : statement.end_lineno] = [f"{indent}{growing.parts}.{call}"]
    removed = len(plain) - len(lines)
    return lines[loop.lineno - 1 : (loop.end_lineno or 0) - removed]

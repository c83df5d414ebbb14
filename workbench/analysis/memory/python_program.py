"""Reads what a program that Inductor generated in Python does with memory, from its text."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from workbench.analysis.memory.events import (
    Allocate,
    Call,
    Drop,
    Event,
    Give,
    Hold,
    LetGo,
    Program,
    Share,
    Take,
    count_strided_bytes,
)
from workbench.analysis.memory.line_events import MADE, NO_KERNELS, VIEWS, example, read_line_events
from workbench.analysis.memory.python_lines import split_functions, split_statements

_OWN = re.compile(r"^def (?P<name>\w+)(?=\(args\):)", re.MULTILINE)
Passed = tuple[int | None, ...]
"""For each result the argument that it is, `NOTHING`, or None for one that the function makes."""
NOTHING = -1


def find_own_functions(
    text: str, known: Collection[str], read: Callable[[str], tuple[Event, ...] | None]
) -> Mapping[str, Passed]:
    """What each function but the `known` ones passes through; `read` gives the events of a line."""
    found: dict[str, Passed] = {}
    for name, block in split_functions(text, _OWN):
        if name not in known:
            found[name] = ()
            with suppress(SyntaxError, ValueError):
                found[name] = _passed(split_statements(block, read))
    return found


def _passed(body: list[tuple[Event, ...] | ast.stmt]) -> Passed:
    taken: tuple[str, ...] = ()
    given: tuple[str | None, ...] = ()
    for unit in body:
        match unit:
            case (Take(names),):
                taken = names
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id="args")):
                taken = tuple(ast.unparse(target) for target in targets)
            case (Give(names),):
                given = names
            case ast.Return(value=ast.Tuple(elts=values)):
                given = tuple(map(memory_of, values))
    places = {None: NOTHING} | {name: place for place, name in enumerate(taken)}
    return tuple(map(places.get, given))


def memory_of(value: ast.expr) -> str | None:
    """The name behind a value, also behind a view of it."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=name), *_]):
            return name
    return None


_EXAMPLES = ("get_args", "benchmark_compiled_module")  # before torch 2.13 it is in the latter
_FUNCTION = re.compile(rf"def (?P<name>call|partition_\d+|{'|'.join(_EXAMPLES)})\(")
_CALL = re.compile(r"def (?P<name>call)\(")
_WITHOUT_MEMORY = {  # sizes, and tensors of ragged batches: torch's native_functions.yaml
    "_scaled_dot_product_flash_attention.": (2, 3, 4, 5),
    "_scaled_dot_product_cudnn_attention.": (2, 3, 4, 5),
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


_Unit = ast.stmt | tuple[Event, ...]


def is_python_program(text: str) -> bool:
    """Whether a text has the function `call` in Python, without reading it."""
    return any(name == "call" for name, _ in split_functions(text, _CALL))


def read_python_program(text: str) -> Program | None:
    """The program of a text; None where the text has no function `call` in Python."""
    blocks = dict(split_functions(text, _FUNCTION))
    input_bytes, hints = _examples(blocks[name] for name in _EXAMPLES if name in blocks)
    functions = {}
    for name in blocks.keys() - set(_EXAMPLES):
        with suppress(SyntaxError, ValueError):
            functions[name] = split_statements(
                blocks[name], lambda line: read_line_events(line, hints)
            )
    if "call" not in functions:
        return None
    own = find_own_functions(text, blocks.keys(), lambda line: read_line_events(line, hints))
    reader = _Reader(functions, dict(hints), own)
    events = tuple(reader.body(functions["call"]))
    symbols = {name for name in reader.sizes if name not in hints}
    return Program(
        events, input_bytes, reader.sizes, bool(symbols), reader.branches, calls=reader.calls
    )


def _examples(blocks: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of the inputs, and integers, of the call that the text has as an example of itself."""
    sized: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for block in blocks:
        with suppress(SyntaxError, ValueError):
            for unit in split_statements(block, example):
                for name, value, is_tensor in (
                    _example(unit) if isinstance(unit, ast.stmt) else unit
                ):
                    (sized if is_tensor else numbers)[name] = value
    return sized, numbers


def _example(node: ast.stmt) -> tuple[tuple[str, int, bool], ...]:
    """As `example` of a line."""
    if not isinstance(node, ast.Assign) or not (name := _name(node.targets[0])):
        return ()
    value = node.value
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return ((name, value.value, False),)
    if isinstance(value, ast.Call) and _name(value.func) == "rand_strided":
        made = {word.arg: word.value for word in value.keywords}
        shape, stride = (_numbers(part, {}) for part in value.args[:2])
        dtype = _dotted(made["dtype"]).removeprefix("torch.") if "dtype" in made else ""
        if shape is not None and stride is not None:
            size = count_strided_bytes(shape, stride, dtype)
            return () if size is None else ((name, size, True),)
    return ()


@dataclass
class _Reader:
    functions: Mapping[str, Sequence[_Unit]]
    sizes: dict[str, int]
    own: Mapping[str, Passed] = field(default_factory=dict)  # they are called and not followed
    branches: int = 0
    calls: int = 0
    given: tuple[str | None, ...] | None = None  # the arguments of the next call of one of those
    dropped: tuple[Event, ...] = ()
    passed: dict[str, Mapping[int, str]] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def body(self, statements: Sequence[_Unit]) -> Iterator[Event]:
        for statement in statements:
            yield from self.statement(statement)

    def statement(self, node: _Unit) -> Iterator[Event]:
        match node:
            case tuple():
                yield from self.line(node)
            case ast.With():
                yield from self.body(node.body)
            case ast.If() if not all(isinstance(part, ast.Raise) for part in node.body):
                self.branches += 1
            case ast.While() | ast.For():
                self.branches += 1
            case ast.Delete():
                yield from (
                    Drop(target.id) for target in node.targets if isinstance(target, ast.Name)
                )
            case ast.Return(value=ast.Tuple(elts=values) | ast.List(elts=values)):
                yield Give(tuple(map(memory_of, values)))
            case ast.Expr(value=ast.Call() as call):
                yield from self.called(call, None)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                names = tuple(filter(None, map(_name, targets)))
                yield from self.unpacked(names, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield from self.assigned(name, value)

    def line(self, events: tuple[Event, ...]) -> Iterator[Event]:
        match events:
            case (Call(kernel=function, result=str(name)),) if function in self.own:
                yield from self.own_call(function, name)
            case (Share(name=name, base=base, part=int(part)),) if part in self.passed.get(
                base, ()
            ):
                yield from (Share(name, f"{base}[{part}]"), Drop(f"{base}[{part}]"))
            case _ if self.given is not None and all(isinstance(e, Drop) for e in events):
                self.dropped += events  # the list of arguments still refers to them
            case _:
                yield from events

    def own_call(self, function: str, name: str) -> Iterator[Event]:
        """A part that is not followed: its arguments live until it is called, and what it gives."""
        arguments = dict(enumerate(self.given or ()))
        not_made = {n: arg for n, arg in enumerate(self.own[function]) if arg is not None}
        passed = {n: base for n, arg in not_made.items() if (base := arguments.get(arg))}
        self.passed[name] = passed
        yield Call(function, name, tuple(n for n, a in not_made.items() if n in passed or a < 0))
        yield from (Share(f"{name}[{n}]", base) for n, base in passed.items())
        yield from self.dropped
        self.calls += 1
        self.given, self.dropped = None, ()

    def unpacked(self, names: tuple[str, ...], value: ast.expr) -> Iterator[Event]:
        """`a, b = args`, or the outputs of a part of the program, which runs in its place."""
        if _name(value) == "args":
            yield Take(names)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Subscript):
            index, given = value.func.slice, self.lists.get(_name(value.args[0]) or "", ())
            inner = self.functions.get(f"partition_{ast.unparse(index)}")
            yield from () if inner is None else self.part(inner, given)

    def part(self, body: Sequence[_Unit], given: tuple[str, ...]) -> Iterator[Event]:
        """A part has the names of the whole: what it takes is there, what it gives stays."""
        for statement in body:
            match statement:
                case (Take(),):
                    yield LetGo(given)  # args.clear() follows
                case (Give(),):
                    pass
                case ast.Assign(value=ast.Name(id="args")):
                    yield LetGo(given)  # args.clear() follows
                case ast.Return():
                    pass
                case _:
                    yield from self.statement(statement)

    def assigned(self, name: str, value: ast.expr) -> Iterator[Event]:
        match value:
            case ast.Name(id=base) if base in self.sizes:
                self.sizes[name] = self.sizes[base]
            case ast.Name(id=base):
                yield Share(name, base)
            case ast.Subscript(value=ast.Name(id=base), slice=ast.Constant(value=int(part))):
                yield Share(name, base, part)
            case ast.List(elts=values) if name.removesuffix("_args") in self.own:
                self.given = tuple(map(memory_of, values))
            case ast.List(elts=values):
                self.lists[name] = tuple(filter(None, map(_name, values)))
                yield Hold(self.lists[name])
            case ast.Call():
                yield from self.called(value, name)
            case _:
                if (number := _number(value, self.sizes)) is not None:
                    self.sizes[name] = number

    def called(self, call: ast.Call, name: str | None) -> Iterator[Event]:
        function = _dotted(call.func)
        short = function.rpartition(".")[2]
        if short.startswith("empty_strided") and name is not None:
            shape, stride = (_numbers(part, self.sizes) for part in call.args[:2])
            dtype = _dotted(call.args[2]).removeprefix("torch.")
            known = shape is not None and stride is not None
            yield Allocate(
                name, count_strided_bytes(shape or (), stride or (), dtype) if known else None
            )
        elif short in VIEWS and name is not None:
            base = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0]
            if isinstance(base, ast.Call):
                yield from self.called(base, name)
            elif base_name := _name(base):
                yield Share(name, base_name)
        elif short in NO_KERNELS:
            return
        elif name is None:
            yield Call(function.removesuffix(".run"))
        elif name.startswith(MADE):
            absent = next((parts for n, parts in _WITHOUT_MEMORY.items() if n in function), None)
            yield Call(function, name, _masked(call) if absent is None else absent)


def _masked(call: ast.Call) -> tuple[int, ...]:
    """The parts that the mask of a backward, such as [False, True, True], switches off."""
    for value in reversed(call.args):
        masks = [p.value for p in getattr(value, "elts", ()) if isinstance(p, ast.Constant)]
        if masks and all(isinstance(mask, bool) for mask in masks):
            return tuple(place for place, mask in enumerate(masks) if not mask)
    return ()


def _numbers(value: ast.expr, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """A tuple of integers; None where one is not known."""
    if not isinstance(value, ast.Tuple):
        return None
    found = [_number(part, sizes) for part in value.elts]
    known = tuple(number for number in found if number is not None)
    return known if len(known) == len(found) else None


def _number(value: ast.expr, sizes: Mapping[str, int]) -> int | None:
    match value:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand, sizes)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            a, b = _number(left, sizes), _number(right, sizes)
            return None if a is None or b is None else _ARITHMETIC[type(op)](a, b)
        case ast.Call(func=ast.Name(id="max" | "min" as which), args=args):
            parts = [_number(part, sizes) for part in args]
            known = [part for part in parts if part is not None]
            is_known = bool(known) and len(known) == len(parts)
            return (max if which == "max" else min)(known) if is_known else None
    return None


def _name(expression: ast.expr) -> str | None:
    return expression.id if isinstance(expression, ast.Name) else None


def _dotted(expression: ast.expr) -> str:
    """The text of a name with dots, without `ast.unparse`, which is slow."""
    match expression:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{_dotted(value)}.{attribute}"
    return ast.unparse(expression)

"""Paths into Python values, such as `batch['ids'][0]` or `self.act`, readable and storable."""

from __future__ import annotations

import ast
import dataclasses
import enum
import keyword
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.errors import ArtifactError, UsageError

Key = str | int
Step = tuple[str, Key]  # ("item", key) or ("attr", name), of state also one of _AROUND
_PLAIN_STEP = r"\.([A-Za-z_]\w*)|\['([^'\\]*)'\]|\[(\d{1,9})\]"
_PLAIN = re.compile(rf"([A-Za-z_]\w*)((?:{_PLAIN_STEP})*)", re.ASCII)
_STEPS = re.compile(_PLAIN_STEP, re.ASCII)


_AROUND = {"type": "type({})", "vars": "vars({})", "call": "{}()"}
"""Steps that state needs besides: the class of an object, its own table, what a weak one holds."""
_DEEPEST = 200  # containers within each other; Python itself follows 1,000 calls
_KEYS = ("bytes", "literal", "dtype")
"""Steps by a key that is no text and no whole number, as text: `1.5`, `(1, 2)`, `None`."""
_LITERALS = (float, complex, tuple, type(None), type(...))
_UNWRITTEN = (enum.Enum, type, types.FunctionType, types.BuiltinFunctionType)
KEY, VALUE = "nth key", "nth value"
"""Steps by the place in a dict, by which torch names what a subclass of dict has."""
_CALLS = ("list.__getitem__", "dict.__getitem__", "object.__getattribute__", "getattr")


@dataclass(frozen=True)
class Path:
    """A root name and the steps from it."""

    root: str
    steps: tuple[Step, ...] = ()

    def item(self, key: Key) -> Path:
        """One subscript further."""
        return Path(self.root, (*self.steps, ("item", key)))

    def attr(self, name: str) -> Path:
        """One attribute further."""
        return Path(self.root, (*self.steps, ("attr", name)))

    @property
    def tail(self) -> str:
        """The steps as Python source, without the root."""
        return "".join(f"[{k!r}]" if kind == "item" else f".{k}" for kind, k in self.steps)

    def __str__(self) -> str:
        return self.source(self.root)

    def source(self, root: str) -> str:
        """The place as Python source, behind the source of its root."""
        for kind, key in self.steps:
            if kind in _AROUND:
                root = _AROUND[kind].format(root)
            elif kind in _KEYS:
                root = f"{root}[{_key_of(kind, str(key))!r}]"
            elif kind in (KEY, VALUE):
                root = f"[*dict.{'keys' if kind == KEY else 'values'}({root})][{key!r}]"
            else:
                root += f"[{key!r}]" if kind == "item" else f".{key}"
        return root

    def get(self, scope: Mapping[str, Any]) -> Any:
        """The value in a scope; raises KeyError, IndexError, TypeError or AttributeError."""
        value = scope[self.root]
        for kind, key in self.steps:
            if kind == "item":
                value = value[key]
            elif kind == "attr":
                value = getattr(value, str(key))
            else:
                value = _stepped(value, kind, str(key))
        return value

    def by_keys(self, scope: Mapping[str, Any]) -> Path | None:
        """The same with the keys of now in place of numbers of values; None where there is none.

        A value stays a number behind a class, a function and an enum's member, which are no text.
        """
        steps: list[Step] = []
        for kind, key in self.steps:
            if kind == VALUE:
                table = Path(self.root, tuple(steps)).get(scope)
                name = list(dict.keys(table))[int(key)]
                step = (VALUE, key) if isinstance(name, _UNWRITTEN) else _key_step(name)
                # a class may have an own way to get an item
                if step is None or table[name] is not dict.__getitem__(table, name):
                    return None
                steps.append(step)
            else:
                steps.append((kind, key))
        return Path(self.root, tuple(steps))

    def holds(self, other: Path) -> bool:
        """Whether the other path begins with this one."""
        return self.root == other.root and other.steps[: len(self.steps)] == self.steps

    def to_json(self) -> list[Any]:
        """JSON-ready data."""
        return [self.root, *[list(step) for step in self.steps]]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Path:
        """Read what `to_json` wrote; refuses a path that is not plain names and keys."""
        try:
            root, *steps = data
            path = cls(root, tuple((kind, key) for kind, key in steps))
        except (TypeError, ValueError):
            path = cls("")
        names = [path.root, *[key for kind, key in path.steps if kind == "attr"]]
        if not all(isinstance(name, str) and name.isidentifier() for name in names) or not all(
            isinstance(key, int if kind in (KEY, VALUE) else str | int)
            and kind in ("item", "attr", *_KEYS, *_AROUND, KEY, VALUE)
            and (kind != "dtype" or str(key).isidentifier())
            and (kind != "literal" or _is_literal(str(key)))
            for kind, key in path.steps
        ):
            raise ArtifactError(
                f"The manifest contains {data!r}, which is not a path. Do not use the file."
            )
        return path


@lru_cache(maxsize=4096)  # a guard's name is read once for each of its guards
def parse(expression: str) -> tuple[str, Path] | None:
    """Read a guard's name: ("L" or "G", path), or None when it is more than keys and attributes."""
    plain = _PLAIN.fullmatch(expression)  # nearly every name; ten times as fast as the parser
    if plain is not None and not keyword.iskeyword(plain[1]):
        return _rooted(plain[1], tuple(_step(*match) for match in _STEPS.findall(plain[2])))
    try:
        node: ast.expr = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return None
    steps: list[Step] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if not isinstance(node.slice.value, str | int):
                return None
            steps.append(("item", node.slice.value))
            node = node.value
        elif isinstance(node, ast.Attribute):
            steps.append(("attr", node.attr))
            node = node.value
        else:
            return None
    steps.reverse()
    return _rooted(node.id, tuple(steps))


def _key_of(kind: str, text: str) -> Any:
    if kind == "bytes":
        return text.encode()
    # a package starts without torch, and has no such step
    return ast.literal_eval(text) if kind == "literal" else getattr(sys.modules["torch"], text)


def _stepped(value: Any, kind: str, key: str) -> Any:
    if kind in _KEYS:
        return value[_key_of(kind, key)]
    if kind == "call":
        return value()
    if kind in (KEY, VALUE):
        return list((dict.keys if kind == KEY else dict.values)(value))[int(key)]
    return type(value) if kind == "type" else vars(value)


@lru_cache(maxsize=4096)
def parse_state(expression: str) -> tuple[str, Path] | None:
    """As `parse`, also through the class of an object, its table, a weak reference."""
    try:
        node: ast.expr = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return None
    steps: list[Step] = []
    while not isinstance(node, ast.Name):
        step_and_node = _taken_off(node)
        if step_and_node is None:
            return None
        step, node = step_and_node
        steps += [step] if step is not None else []
    steps.reverse()
    return _rooted(node.id, tuple(steps))


def _taken_off(node: ast.expr) -> tuple[Step | None, ast.expr] | None:
    """The last step of an expression and the rest, None where it is none of those known."""
    if isinstance(node, ast.Attribute):
        is_table = node.attr == "__dict__"
        return (("vars", "") if is_table else ("attr", node.attr)), node.value
    by_place = _by_place(node)
    if by_place is not None:
        return by_place
    if isinstance(node, ast.Subscript):
        return _subscript(node)
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    called, arguments = ast.unparse(node.func), node.args
    if not arguments:
        return ("call", ""), node.func
    if len(arguments) == 1 and called in ("type", "dict"):  # torch copies the table of a class
        return (("type", "") if called == "type" else None), arguments[0]
    if len(arguments) == 2 and called in _CALLS and isinstance(arguments[1], ast.Constant):
        key = arguments[1].value
        return (
            _item(key, arguments[0]) if "getitem" in called else (("attr", str(key)), arguments[0])
        )
    return None


def _subscript(node: ast.Subscript) -> tuple[Step, ast.expr] | None:
    key = node.slice
    if isinstance(key, ast.Attribute) and ast.unparse(key.value) == "torch":
        return ("dtype", key.attr), node.value
    if isinstance(key, ast.Name) and key.id == "Ellipsis":  # as torch writes it
        return ("literal", "..."), node.value
    try:
        return _item(ast.literal_eval(key), node.value)
    except ValueError:  # no literal
        return None


def _by_place(node: ast.expr) -> tuple[Step, ast.expr] | None:
    """The step of `list(dict.keys(d))[2]`, or of `dict.__getitem__(d, list(dict.keys(d))[2])`.

    The latter is written as `d[list(dict.keys(d))[2]]` where `d` is a dict of no other class.
    """
    match node:
        case ast.Subscript(
            ast.Call(ast.Name("list"), [ast.Call(func, [base])]), ast.Constant(int() as place)
        ) if ast.unparse(func) == "dict.keys":
            return (KEY, place), base
        case ast.Subscript(base, key) | ast.Call(_, [base, key]) if (
            isinstance(node, ast.Subscript) or ast.unparse(node.func) == "dict.__getitem__"
        ):
            key_step = _by_place(key)
            is_own = key_step is not None and key_step[0][0] == KEY
            if key_step is not None and is_own and ast.dump(key_step[1]) == ast.dump(base):
                return (VALUE, key_step[0][1]), base
    return None


def _item(key: Any, base: ast.expr) -> tuple[Step, ast.expr] | None:
    step = _key_step(key)
    return None if step is None else (step, base)


def _key_step(key: Any) -> Step | None:
    if isinstance(key, bytes):
        return "bytes", key.decode(errors="replace")
    if type(key) in _LITERALS:
        text = "..." if key is ... else repr(key)
        return ("literal", text) if _is_literal(text) else None
    if isinstance(key, getattr(sys.modules.get("torch"), "dtype", ())):
        return "dtype", str(key).removeprefix("torch.")
    return ("item", key) if type(key) in (str, int, bool) else None


def _is_literal(text: str) -> bool:
    """Whether Python reads it as a literal; the text of nan is none, nor that of an object."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _step(attribute: str, key: str, index: str) -> Step:
    if attribute:
        return "attr", attribute
    return ("item", int(index)) if index else ("item", key)


def _rooted(name: str, steps: tuple[Step, ...]) -> tuple[str, Path]:
    if name in ("G", "L") and steps and steps[0][0] == "item":
        return name, Path(str(steps[0][1]), steps[1:])
    return "L", Path(name, steps)


def leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The leaves of nested containers (data classes and named tuples too), with their paths."""
    inner = parts(value, path)
    if inner is None:
        yield path, value
        return
    if len(path.steps) > _DEEPEST:
        raise UsageError(
            f"{path.root} is nested deeper than {_DEEPEST} levels, or contains itself. Pass a "
            "finite structure."
        )
    for key, (part, place) in inner.items():
        if isinstance(key, str | int):
            yield from leaves(part, place)


def parts(value: Any, path: Path) -> dict[Any, tuple[Any, Path]] | None:
    """The parts of a container by key or name, with their paths; None for anything else."""
    if isinstance(value, Mapping):
        steps = {key: key if isinstance(key, int) else str(key) for key in value}
        return {key: (part, path.item(steps[key])) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        return {name: (part, path.attr(name)) for name, part in pairs}
    if isinstance(value, list | tuple):
        return {n: (part, path.item(n)) for n, part in enumerate(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: (getattr(value, name), path.attr(name)) for name in names}
    return None

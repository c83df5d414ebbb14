"""Paths into Python values, such as `batch['ids'][0]` or `self.act`, readable and storable."""

from __future__ import annotations

import ast
import dataclasses
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.errors import ArtifactError

Key = str | int
Step = tuple[str, Key]  # ("item", key) or ("attr", name)
_PLAIN_STEP = r"\.([A-Za-z_]\w*)|\['([^'\\]*)'\]|\[(\d{1,9})\]"
_PLAIN = re.compile(rf"([A-Za-z_]\w*)((?:{_PLAIN_STEP})*)", re.ASCII)
_STEPS = re.compile(_PLAIN_STEP, re.ASCII)


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
        return f"{self.root}{self.tail}"

    def get(self, scope: Mapping[str, Any]) -> Any:
        """The value in a scope; raises KeyError, IndexError, TypeError or AttributeError."""
        value = scope[self.root]
        for kind, key in self.steps:
            value = value[key] if kind == "item" else getattr(value, str(key))
        return value

    def holds(self, other: Path) -> bool:
        """Whether the other path begins with this one."""
        return self.root == other.root and other.steps[: len(self.steps)] == self.steps

    def to_json(self) -> list[Any]:
        """JSON-ready data."""
        return [self.root, *[list(step) for step in self.steps]]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Path:
        """Read what `to_json` wrote; refuses a path that is not plain names and keys."""
        root, *steps = data
        path = cls(root, tuple((kind, key) for kind, key in steps))
        names = [root, *[key for kind, key in path.steps if kind == "attr"]]
        if not all(isinstance(name, str) and name.isidentifier() for name in names) or not all(
            kind in ("item", "attr") and isinstance(key, str | int) for kind, key in path.steps
        ):
            raise ArtifactError(
                f"The manifest holds {data!r}, which is no path. Do not use the file."
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

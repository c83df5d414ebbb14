"""The aten operators behind a kernel, cut out of the printed FX graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from workbench.errors import UsageError

_RANDOM = re.compile(r"rand|seed|bernoulli|dropout|multinomial|normal_functional")
_OUTSIDE = frozenset({"torch", "device", "inf", "nan", "math", "operator"})


@dataclass(frozen=True)
class Slice:
    """Statements in the order of the graph that give `results`, and the values they start from."""

    statements: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]


class PrintedGraph:
    """The statements of a graph by the name of their node."""

    def __init__(self, text: str):
        function = _forward(text)
        self.placeholders = tuple(arg.arg for arg in function.args.args if arg.arg != "self")
        self._values: dict[str, ast.expr] = {}
        for statement in function.body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            (target, *_), value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            return
        if isinstance(target, ast.Name) and not _is_none(value):
            self._values.setdefault(target.id, value)

    def stored_in(self, placeholder: str) -> str | None:
        """The node that writes the last value of an input back to it."""
        found = None
        for name, value in self._values.items():
            if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("copy_.default"):
                first = value.args[0]
                found = name if isinstance(first, ast.Name) and first.id == placeholder else found
        return found

    def sliced(self, results: Iterable[str], given: Collection[str]) -> Slice:
        """What computes the results from what is given.

        Raises `UsageError` where that takes another value, a constant of the graph, or chance.
        """
        wanted, used, inputs = list(results), set[str](), set[str]()
        open_ = [name for name in wanted if name not in given]
        inputs.update(name for name in wanted if name in given)
        while open_:
            name = open_.pop()
            if name in used:
                continue
            used.add(name)
            for other in self._needed(name):
                if other in given:
                    inputs.add(other)
                else:
                    open_.append(other)
        order = {name: at for at, name in enumerate((*self.placeholders, *self._values))}
        lines = [
            f"{n} = {ast.unparse(self._values[n])}" for n in sorted(used, key=order.__getitem__)
        ]
        return Slice(tuple(lines), tuple(sorted(inputs, key=order.__getitem__)), tuple(wanted))

    def _needed(self, name: str) -> list[str]:
        value = self._values.get(name)
        if value is None:
            raise UsageError(
                f"its operators start from {name}, which the kernel is not given: it reads parts "
                "of values that other kernels leave for it"
            )
        text = ast.unparse(value)
        if "torch.ops.higher_order" in text or "triton_kernel_wrapper" in text:
            raise UsageError(
                f"{name} is no aten operator, so that there is no eager to compare with"
            )
        if isinstance(value, ast.Call) and _RANDOM.search(ast.unparse(value.func)):
            raise UsageError(f"{name} draws random numbers, which eager draws differently")
        names = [part.id for part in ast.walk(value) if isinstance(part, ast.Name)]
        if "self" in names:
            raise UsageError(
                f"{name} reads a constant of the graph, which the record does not hold"
            )
        return [other for other in dict.fromkeys(names) if other not in _OUTSIDE]


def _forward(text: str) -> ast.FunctionDef:
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("    def forward(")), None)
    if start is None:
        raise UsageError("the record does not hold the text of its graph")
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith("     ")):
        end += 1
    body = "\n".join(line[4:] for line in lines[start:end])
    try:
        (function,) = ast.parse(body).body
    except (SyntaxError, ValueError) as error:
        raise UsageError("the text of its graph cannot be read") from error
    assert isinstance(function, ast.FunctionDef)
    return function


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None

"""Changes one launch, grid, argument or constant of a generated program, at a seeded place.

What would change nothing is left out by construction: launches that do not depend on each other, a
grid of as many blocks, inputs that are only added or multiplied.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from tests.compiler.interpreter.mutations import Mutation

KINDS = ("dropped", "moved", "grid", "arguments", "constant")
_FACTORS = ("alpha", "beta", "scale")
_SUBTLE = 1.02

Blocks = Mapping[str, Mapping[str, int]]
"""The sizes of the blocks of each kernel, such as {"XBLOCK": 64}."""


@dataclass(frozen=True)
class Launch:
    """A statement that launches a kernel or calls a library, and the variables it writes to."""

    place: int
    call: ast.Call
    name: str
    parameters: tuple[str, ...]

    @property
    def pointers(self) -> dict[int, str]:
        """The variables that are given, by their position."""
        given = enumerate(self.call.args[: self._tensors])
        return {place: arg.id for place, arg in given if isinstance(arg, ast.Name)}

    @property
    def _tensors(self) -> int:
        if not self.parameters:
            return len(self.call.args)
        return sum("ptr" in name or name.startswith("arg_") for name in self.parameters)

    @property
    def written(self) -> set[str]:
        out = [k.value for k in self.call.keywords if k.arg == "out"]
        named = {value.id for value in out if isinstance(value, ast.Name)}
        return named | {
            name for place, name in self.pointers.items() if "out" in self._parameter(place)
        }

    def _parameter(self, place: int) -> str:
        return self.parameters[place] if self.parameters else ""

    @property
    def used(self) -> set[str]:
        return {node.id for node in ast.walk(self.call) if isinstance(node, ast.Name)}


def chosen(source: str, blocks: Blocks, seed: float) -> Mutation | None:
    """One of the changes: first its kind, then its place, both by the seed."""
    by_kind: dict[str, list[Mutation]] = {}
    for mutation in mutations(source, blocks):
        by_kind.setdefault(mutation.kind, []).append(mutation)
    if not by_kind:
        return None
    dice = random.Random(seed)
    return dice.choice(by_kind[dice.choice(sorted(by_kind))])


def mutations(source: str, blocks: Blocks) -> list[Mutation]:
    """Every change of a program that this knows how to make."""
    steps = _body(ast.parse(source))
    launches = list(_launches(steps, source))
    found = list(_moved(source, steps, launches))
    for launch in launches:
        before = steps[launch.place]
        for kind, after in _changes(launch, before, blocks, source):
            changed = [*steps[: launch.place], after, *steps[launch.place + 1 :]]
            words = ast.unparse(before), ast.unparse(after)
            found.append(Mutation(kind, *words, _with_body(source, changed)))
    return found


def _body(tree: ast.AST) -> list[ast.stmt]:
    """The statements of the program, on its device."""
    call = next(
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"
    )
    return next(node.body for node in ast.walk(call) if isinstance(node, ast.With))


def _with_body(source: str, steps: list[ast.stmt]) -> str:
    tree = ast.parse(source)
    _body(tree)[:] = steps
    return ast.unparse(ast.fix_missing_locations(tree))


def _launches(steps: list[ast.stmt], source: str) -> Iterator[Launch]:
    for place, step in enumerate(steps):
        call = step.value if isinstance(step, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call):
            continue
        text = ast.unparse(call.func)
        if text.endswith(".run"):
            name = text.removesuffix(".run")
            yield Launch(place, call, name, _parameters(name, source))
        elif text.startswith(("extern_kernels.", "torch.ops.")):
            yield Launch(place, call, text, ())


def _parameters(name: str, source: str) -> tuple[str, ...]:
    found = re.search(rf"def {name}\(([^)]*)\)", source)
    return tuple(re.findall(r"(\w+)(?:\s*:\s*[\w.]+)?", found[1])) if found else ()


def _moved(source: str, steps: list[ast.stmt], launches: list[Launch]) -> Iterator[Mutation]:
    """A launch that comes after the next one, which reads what it writes."""
    for first, then in pairwise(launches):
        depend = first.written & then.used or then.written & first.used
        if not depend or not isinstance(steps[first.place], ast.Expr):
            continue
        between = steps[first.place + 1 : then.place + 1]
        freed = [step for step in between if isinstance(step, ast.Delete)]
        others = [step for step in between if not isinstance(step, ast.Delete)]
        changed = [*steps[: first.place], *others, steps[first.place], *freed]
        text = _with_body(source, [*changed, *steps[then.place + 1 :]])
        yield Mutation("moved", f"{first.name}, {then.name}", f"{then.name}, {first.name}", text)


def _changes(
    launch: Launch, step: ast.stmt, blocks: Blocks, source: str
) -> Iterator[tuple[str, ast.stmt]]:
    if isinstance(step, ast.Expr):
        yield "dropped", ast.Pass()
    for place in _halved(launch, blocks):
        size = launch.call.args[place]
        assert isinstance(size, ast.Constant)
        yield "grid", _with_argument(step, place, ast.Constant(size.value // 2))
    for a, b in combinations(launch.pointers, 2):
        if launch.pointers[a] != launch.pointers[b] and not _commute(launch, a, b, source):
            swapped = _with_argument(step, a, launch.call.args[b])
            yield "arguments", _with_argument(swapped, b, launch.call.args[a])
    for number, keyword in enumerate(launch.call.keywords):
        value = keyword.value
        if keyword.arg in _FACTORS and isinstance(value, ast.Constant) and value.value:
            changed = copy.deepcopy(step)
            call = _call_of(changed)
            call.keywords[number].value = ast.Constant(value.value * _SUBTLE)
            yield "constant", changed


def _call_of(step: ast.stmt) -> ast.Call:
    value = getattr(step, "value", None)
    assert isinstance(value, ast.Call)
    return value


def _with_argument(step: ast.stmt, place: int, value: ast.expr) -> ast.stmt:
    changed = copy.deepcopy(step)
    _call_of(changed).args[place] = value
    return changed


def _halved(launch: Launch, blocks: Blocks) -> Iterator[int]:
    """The arguments that make up a grid, where half of it has fewer blocks."""
    known = blocks.get(launch.name, {})
    sizes = {
        place: arg.value
        for place, arg in enumerate(launch.call.args)
        if isinstance(arg, ast.Constant) and isinstance(arg.value, int)
    }
    for place, size in sizes.items():
        name = launch.parameters[place] if place < len(launch.parameters) else ""
        block = known.get(f"{name[:1].upper()}BLOCK")
        is_template = launch.name.startswith("triton_tem") and size > 1
        if is_template or (
            name in ("xnumel", "ynumel") and block and -(-(size // 2) // block) < -(-size // block)
        ):
            yield place


def _commute(launch: Launch, a: int, b: int, source: str) -> bool:
    """Whether a kernel only adds or multiplies two of its inputs."""
    if not launch.parameters:
        return False
    tree = ast.parse(source)
    text = next(
        str(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and f"def {launch.name}(" in str(node.value)
    )
    left, right = (
        re.findall(rf"(tmp\d+) = tl\.load\({launch.parameters[place]} ", text) for place in (a, b)
    )
    pairs = [*product(left, right), *product(right, left)]
    return any(re.search(rf"\b{x} [+*] {y}\b", text) for x, y in pairs)

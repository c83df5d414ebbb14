"""Programs that read state in the ways in which Dynamo guards it, each with a change of that state.

A program is the source of a module with a function `f`, a call of it, and a statement that changes
what the function reads. The ways are those of the methods of torch's GuardBuilder.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
HEADER = """
import collections, dataclasses, enum, functools, itertools, os, types, weakref
import numpy as np
import torch

class Box:
    pass

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

Pair = collections.namedtuple('Pair', 'left right')

def double(a): return a * 2

def triple(a): return a * 3
"""


@dataclass(frozen=True)
class Program:
    """One module: `call` are the arguments, `change` is a statement, both as source."""

    name: str
    kind: str
    source: str
    call: str
    change: str


@dataclass(frozen=True)
class Value:
    """A value, what else it may become, and an expression of a number that reads it as `{}`."""

    kind: str
    before: str
    after: str
    use: str
    in_place: bool = False


VALUES = tuple(Value(**row) for row in _ROWS["value"])


@dataclass(frozen=True)
class Holder:
    """Where a value lives: statements that put it there, how it is read, how it is given anew."""

    kind: str
    setup: str
    read: str
    write: str
    parameter: str = ""
    argument: str = ""


HOLDERS = tuple(Holder(**row) for row in _ROWS["holder"])


@dataclass(frozen=True)
class Special:
    """A way of reading that no value and holder make together."""

    kind: str
    setup: str
    use: str
    change: str


SPECIALS = tuple(Special(**row) for row in _ROWS["special"])


def programs(seed: int, count: int) -> Iterator[Program]:
    """That many different programs; each of the special ways comes first in one alone."""
    chance = random.Random(seed)
    made = [special(way, f"s{i}") for i, way in enumerate(SPECIALS)]
    pairs = [(holder, value) for holder in HOLDERS for value in VALUES]
    chance.shuffle(pairs)
    chance.shuffle(made)
    made += [held(holder, value, f"h{i}") for i, (holder, value) in enumerate(pairs)]
    # a small sample has both; a large one has every special way
    few = count // 2 if count < 2 * len(SPECIALS) else len(SPECIALS)
    chosen = [*made[:few], *made[len(SPECIALS) :]][:count]
    for i, program in enumerate(chosen):
        if i % 3 == 2:  # beside another state, which stays as it is
            holder, value = chance.choice(HOLDERS[:15]), chance.choice(VALUES[:20])
            yield _beside(program, held(holder, value, f"e{i}"))
        else:
            yield program


def special(way: Special, n: str) -> Program:
    """The program of a special way, under a name."""
    source = f"{HEADER}\n{way.setup.format(n=n)}\ndef f(a):\n    return a * {way.use.format(n=n)}\n"
    change = way.change.format(n=n)
    return Program(n, way.kind, source, "(torch.ones(3),)", change)


def held(holder: Holder, value: Value, n: str) -> Program:
    """The program of a value where a holder has it, under a name."""
    read = holder.read.format(n=n, m="{m}", v=value.before)
    setup = holder.setup.format(n=n, m="{m}", v=value.before)
    if value.in_place:
        target = read if holder.argument == "" else read.replace(n, f"{n}_a", 1)
        target = f"{n}_d" if holder.kind == "own default" else target
        change = value.after.replace("{}", target)
    else:
        change = holder.write.format(n=n, m="{m}", v=value.after)
    parameter = holder.parameter.format(n=n)
    argument = holder.argument.format(n=n)
    source = (
        f"{HEADER}\n{setup}\ndef f(a{', ' if parameter else ''}{parameter}):\n"
        f"    return a * {value.use.replace('{}', read)}\n"
    )
    call = f"(torch.ones(3), {argument})" if argument else "(torch.ones(3),)"
    return Program(n, f"{holder.kind} / {value.kind}", source, call, change)


def _beside(program: Program, other: Program) -> Program:
    """The program with what another one reads added to its result."""
    setup, _, body = other.source.removeprefix(HEADER).partition("\ndef f(a):\n    return a * ")
    first, _, rest = program.source.removeprefix(HEADER).partition("\ndef f(")
    source = f"{HEADER}\n{setup}\n{first}\ndef f({rest.rstrip()} + {body}"
    kind = f"{program.kind}, beside {other.kind}"
    return Program(program.name, kind, source, program.call, program.change)

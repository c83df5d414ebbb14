"""What a pickle would import and call, read from its opcodes without running it."""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.number_text import plural

_STRINGS = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"))
_BYTES = frozenset(("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8", "BINSTRING"))
_CALLS = frozenset(("REDUCE", "NEWOBJ", "NEWOBJ_EX", "INST", "OBJ", "BUILD"))
_DEPTH = 8
_MOST_STEPS = 5_000_000  # about five seconds; the payload of GPT-2 takes 60,000
_TEXT, _TEXTS = 80, 16 << 20  # the shortest text of several lines that is kept, and all of them


class _Mark:
    """The position of a MARK on the stack."""


_MARK = _Mark()


@dataclass(frozen=True)
class PickleFacts:
    """One pickle: the names it imports, how often it calls something, the pickles inside.

    `texts` are its texts of several lines, such as generated code. `nested` are the pickles in its
    bytes and those that follow it.
    """

    size: int
    globals: tuple[str, ...]
    calls: int
    persistent: int = 0
    nested: tuple[PickleFacts, ...] = ()
    complete: bool = True
    problem: str = ""
    texts: tuple[str, ...] = field(default=(), repr=False)

    def all_texts(self) -> Iterator[str]:
        """The texts of several lines, of the nested pickles too, in their order."""
        yield from self.texts
        for inner in self.nested:
            yield from inner.all_texts()

    def all_globals(self) -> tuple[str, ...]:
        """Every imported name, of the nested pickles too, sorted."""
        names = set(self.globals)
        for inner in self.nested:
            names.update(inner.all_globals())
        return tuple(sorted(names))


@dataclass
class _Reading:
    """The part of a pickle machine's state that decides which names are imported."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nested: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: int = 0
    persistent: int = 0


@dataclass
class _Budget:
    """What is left for a file: steps, and bytes of texts."""

    steps: int
    texts: int


def read_pickle(content: bytes) -> PickleFacts:
    """Read the opcodes of a pickle, of those inside and behind it too; executes nothing.

    The time is bounded: a pickle of very many steps is not `complete`.
    """
    return _read(content, 0, _Budget(_MOST_STEPS, _TEXTS))


def _read(content: bytes, depth: int, budget: _Budget) -> PickleFacts:
    state = _Reading()
    problem = ""
    end: int | None = None
    try:
        for opcode, argument, place in pickletools.genops(content):
            budget.steps -= 1
            if budget.steps < 0:
                raise ValueError("the limit of opcodes was reached")
            _step(state, opcode, argument)
            _keep(state, argument, budget)
            end = place
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        problem = f"unreadable after {plural(len(state.globals), 'name')}: {error}"
    rest = content[(end or 0) + 1 :]  # what follows STOP
    if not problem and _is_pickle(rest):
        state.nested.append(rest)
    parts = state.nested if depth < _DEPTH else []
    inner = [_read(part, depth + 1, budget) for part in parts]
    return PickleFacts(
        size=len(content),
        globals=tuple(sorted(state.globals)),
        calls=state.calls,
        persistent=state.persistent,
        nested=tuple(facts for facts in inner if facts.complete or facts.globals),
        complete=not problem,
        problem=problem,
        texts=tuple(state.texts),
    )


def _is_pickle(content: bytes) -> bool:
    return len(content) > 2 and content[0] == 0x80 and content[1] <= 5


def _keep(state: _Reading, argument: Any, budget: _Budget) -> None:
    if isinstance(argument, str) and len(argument) >= _TEXT and "\n" in argument:
        budget.texts -= len(argument)
        if budget.texts >= 0:
            state.texts.append(argument)


def _step(state: _Reading, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
    name, stack = opcode.name, state.stack
    if name in _BYTES and not isinstance(argument, str) and _is_pickle(argument):
        state.nested.append(bytes(argument))
    if name in ("GLOBAL", "INST"):
        state.globals.add(str(argument).replace(" ", ":", 1))
    elif name == "STACK_GLOBAL":
        module, attribute = stack[-2], stack[-1]
        is_text = isinstance(module, str) and isinstance(attribute, str)
        state.globals.add(
            f"{module}:{attribute}" if is_text else "a name computed during unpickling"
        )
    elif name.startswith("EXT"):
        state.globals.add(f"extension registry code {argument}")
    state.calls += name in _CALLS
    state.persistent += name in ("PERSID", "BINPERSID")
    _move(state, opcode, argument)


def _move(state: _Reading, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
    """What the opcode does to the stack; only strings keep their value."""
    name, stack = opcode.name, state.stack
    before, after = opcode.stack_before, [None] * len(opcode.stack_after)
    pops = len(before)
    to_mark = pickletools.markobject in before
    if to_mark or (name == "POP" and stack and stack[-1] is _MARK):
        while stack.pop() is not _MARK:
            pass
        pops = before.index(pickletools.markobject) if to_mark else 0
    pushes: list[Any] = list(after)
    if name in _STRINGS:
        pushes = [argument]
    elif name == "MARK":
        pushes = [_MARK]
    elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
        state.memo[len(state.memo) if name == "MEMOIZE" else argument] = stack[-1]
        return
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        pushes = [state.memo[argument]]
    elif name == "DUP":
        pushes = [stack[-1], stack[-1]]
    if pops:
        if len(stack) < pops:
            raise ValueError("the stack is too short")
        del stack[-pops:]
    stack.extend(pushes)

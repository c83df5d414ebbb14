"""The functions of a generated program in Python, their statements read by their form.

Python's own parser takes most of the time of reading a program, and does not keep the texts of its
sizes as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from keyword import iskeyword

from workbench.artifacts.programs.events import (
    Allocate,
    Branch,
    Call,
    Check,
    Drop,
    Event,
    Inputs,
    Note,
    Number,
    Retain,
    Return,
    RunPart,
    Share,
    make_allocation,
)
from workbench.artifacts.programs.size_text import (
    STRING,
    read_dims,
    split_parts,
)

_DEFINED = re.compile(r"^( *)def (\w+)\(([^()]*)\)(?: -> [^\n]*)?:[^\n]*$", re.MULTILINE)
_CODE = re.compile(rf"(?:[^#'\"]|{STRING.pattern})*")
_ASSIGNED = re.compile(r"(\w+|\(?\w+(?:, ?\w+)*,?\)?) = (.+)", re.DOTALL)
_BRACKET = re.compile(r"[()]")
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)", re.DOTALL)
_CALLED_PART = re.compile(r"[\w.]+\[(\d+)\]\((\w+)\)")
_PART = re.compile(r"([A-Za-z_]\w*)\[(\d+)\]")
_ALLOCATED = re.compile(r"(?:[\w.]+\.)?(?:empty|rand)_strided(\w*)\((.*)\)", re.DOTALL)
_VIEWED = re.compile(r"reinterpret_tensor\((\w+), .*\)")
_MASK = re.compile(r"[\[(]((?:True|False)(?:, (?:True|False))*),?[\])]")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_BLOCKS = ("if ", "while ", "for ", "try:")
_VIEWS = ("reinterpret_tensor", "alloc_from_pool", "as_strided")
_CHECKS = ("assert_size_stride", "assert_tensor_metadata")  # the latter since torch 2.14
_NO_KERNELS = (
    "assert_alignment",
    "copy_misaligned",
    "clear",
    "set_device",
    "get_raw_stream",
    "size",
    "stride",
    "print",
    "check_memory_step",
    "track_tensor",
)
_MADE = ("buf", "workspace")  # the names of what library calls make
_WITHOUT_MEMORY: Mapping[str, tuple[int, ...]] = {
    # sizes, and tensors of ragged batches: torch's native_functions.yaml
    "_scaled_dot_product_flash_attention.": (2, 3, 4, 5),
    "_scaled_dot_product_cudnn_attention.": (2, 3, 4, 5),
}


@dataclass(frozen=True)
class Function:
    """A function with the text between the brackets of its head; `is_method`: it is indented."""

    name: str
    parameters: str
    is_method: bool
    _body: str
    _line: int

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What it does, in the order of its text."""
        return tuple(_events(list(_statements(self._body, self._line))))


def read_functions(text: str) -> Iterator[Function]:
    """The functions of a program in the order of its text; sources of kernels are no part of it."""
    for quotes in ("'''", '"""'):
        parts = text.split(quotes)
        parts[1::2] = ["\n" * part.count("\n") for part in parts[1::2]]
        text = "".join(parts)
    line, last = 1, 0
    for head in _DEFINED.finditer(text):
        end = re.compile(rf"\n(?:{head[1]})?[^\s#]").search(text, head.end())
        body = text[head.end() : end.start() if end else len(text)]
        line, last = line + text.count("\n", last, head.end()), head.end()
        yield Function(head[2], head[3], bool(head[1]), body, line)


_Statement = tuple[int, int, str]
"""Its indentation, its line and its text."""


def _statements(text: str, first: int) -> Iterator[_Statement]:
    """The statements of a function with their lines; comments of their own line are kept."""
    parts: list[str] = []
    indent = start = depth = 0
    for number, line in enumerate(text.split("\n"), first):
        code = line.strip()
        if not code:
            continue
        if not parts:
            indent, start = len(line) - len(line.lstrip()), number
            if code[0] == "#":
                yield indent, start, code
                continue
        has_text = "'" in code or '"' in code
        if "#" in code:
            match = _CODE.match(code) if has_text else None
            code = (match[0] if match else code.partition("#")[0]).rstrip()
        depth += _count_open(STRING.sub("", code) if has_text else code)
        goes_on = depth > 0 or code.endswith("\\")
        if goes_on or parts:
            parts.append(code.removesuffix("\\").rstrip())
            if goes_on:
                continue
            code, parts = " ".join(parts), []
        depth = 0
        if ";" in code:
            for part in split_parts(code, ";"):
                yield indent, start, part
        else:
            yield indent, start, code


def _count_open(code: str) -> int:
    """How many more brackets a line opens than it closes; it has no strings."""
    count = code.count("(") - code.count(")")
    if "[" in code or "]" in code:
        count += code.count("[") - code.count("]")
    if "{" in code or "}" in code:
        count += code.count("{") - code.count("}")
    return count


def _events(statements: Sequence[_Statement]) -> list[Event]:
    events: list[Event] = []
    place = 0
    while place < len(statements):
        indent, line, code = statements[place]
        place += 1
        if code[:1] == "#":
            events.append(Note(code[1:].strip(), line=line))
        elif code.startswith(_BLOCKS):
            end = _behind(statements, place, indent)
            _, *short = split_parts(code, ":")
            inside = [(0, line, part) for part in short] or list(statements[place:end])
            is_check = all(statement[2].startswith(("raise ", "#")) for statement in inside)
            place = end
            while place < len(statements) and _GOES_ON.match(statements[place][2]):
                place = _behind(statements, place + 1, indent)
            inside += statements[end:place]
            events.append(Branch(tuple(_events(inside)), is_check, line=line))
        elif code.startswith(("def ", "class ")):
            place = _behind(statements, place, indent)
        elif not code.endswith(":"):  # the body of a `with` stands in its place
            _read_statement(code, line, events)
    return events


def _behind(statements: Sequence[_Statement], place: int, indent: int) -> int:
    """The first statement that is not inside of one with this indentation."""
    while place < len(statements) and statements[place][0] > indent:
        place += 1
    return place


def _read_statement(code: str, line: int, events: list[Event]) -> None:
    """Add what a statement does; nothing where it neither makes, names nor passes on memory."""
    if code.startswith("del "):
        for name in code[4:].split(","):
            if name.strip().isidentifier():
                events.append(Drop(name.strip(), line=line))
    elif code.startswith("return "):
        value = code[7:].strip()
        if value[:1] in "([":
            events.append(Return(tuple(map(_memory_of, split_parts(value[1:-1]))), line=line))
    elif " = " not in code or (assigned := _ASSIGNED.fullmatch(code)) is None:
        _add_call(code, None, line, events)
    elif assigned[1].isidentifier():
        _add_named(assigned[1], assigned[2], line, events)
    elif assigned[2] == "args":
        events.append(Inputs(tuple(split_parts(assigned[1].strip("()"))), line=line))
    elif part := _CALLED_PART.fullmatch(assigned[2]):
        events.append(RunPart(f"partition_{part[1]}", part[2], line=line))


def _add_named(name: str, value: str, line: int, events: list[Event]) -> None:
    if value.isidentifier():
        if not iskeyword(value):
            events.append(Share(name, value, line=line))
    elif part := _PART.fullmatch(value):
        events.append(Share(name, part[1], int(part[2]), line=line))
    elif value.startswith("["):
        held = tuple(map(_memory_of, split_parts(value[1:-1])))
        events.append(Retain(held, name, line=line))
    elif "_strided" in value and (like := _read_allocation(value)):
        layout = like.shape, like.stride, like.dtype, like.device
        events.append(Allocate(name, like.bytes, *layout, line=line))
    elif _CALLED.fullmatch(value):
        _add_call(value, name, line, events)
    else:
        events.append(Number(name, value, line=line))


def _memory_of(value: str) -> str | None:
    """The name behind a value, also behind a view of it."""
    if value.isidentifier():
        return None if iskeyword(value) else value
    viewed = _VIEWED.fullmatch(value)
    return None if viewed is None else viewed[1]


def _add_call(code: str, name: str | None, line: int, events: list[Event]) -> None:
    match = _CALLED.fullmatch(code)
    if match is None or not _is_one_call(match[2]):
        if match is not None and name is not None:
            events.append(Number(name, code, line=line))
        return
    function, arguments = match[1], match[2]
    owner, _, short = function.rpartition(".")
    if short.startswith("assert_"):
        events += _checked(short, arguments, line)
    elif short in _NO_KERNELS:
        return
    elif name is None:
        events.append(Call(function.removesuffix(".run"), arguments=arguments, line=line))
    elif short in _VIEWS:
        _add_view(name, owner, short, split_parts(arguments), line, events)
    elif name.startswith(_MADE):
        # with the random state of the forward, the operator is an argument
        called = arguments if short.endswith("run_with_rng_state") else function
        without_memory = (parts for n, parts in _WITHOUT_MEMORY.items() if n in called)
        absent = next(without_memory, None) or _masked(arguments)
        events.append(Call(function, name, absent, arguments, line=line))
    elif short in ("max", "min"):
        events.append(Number(name, code, line=line))


def _add_view(
    name: str, owner: str, function: str, parts: Sequence[str], line: int, events: list[Event]
) -> None:
    base, *others = [owner, *parts] if owner else parts
    if function == "alloc_from_pool":
        others = others[2:]  # an offset and a type
    if not base.isidentifier():
        _add_call(base, name, line, events)
    elif len(others) > 1:
        shape, stride = (read_dims(size[1:-1]) for size in others[:2])
        events.append(Share(name, base, layout=(shape, stride), line=line))


def _is_one_call(arguments: str) -> bool:
    """Whether the bracket that is opened before the arguments is closed behind them, and not in."""
    if ")" not in arguments:
        return "(" not in arguments
    bare = STRING.sub("", arguments) if "'" in arguments or '"' in arguments else arguments
    depth = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _checked(function: str, arguments: str, line: int) -> Iterator[Event]:
    """The variables whose layout a call checks; since torch 2.14 several."""
    if function in _CHECKS:
        name, _, layout = arguments.partition(",")
        rows = [(name.strip(), *split_parts(layout)[:2])]
    elif function == "assert_size_stride_grouped":
        groups = (split_parts(part[1:-1]) for part in split_parts(arguments)[:3])
        rows = list(zip(*groups, strict=False))
    else:
        rows = []
    for name, *sizes in (row for row in rows if len(row) == 3):
        shape, stride = (read_dims(size[1:-1]) for size in sizes)
        yield Check(name, shape, stride, arguments.endswith("'input'"), line=line)


@lru_cache(maxsize=4096)  # layers repeat layouts
def _read_allocation(value: str) -> Allocate | None:
    """`empty_strided_DEVICE(shape, stride, dtype)` without a name; None for anything else.

    Of an example, device and type have names.
    """
    match = _ALLOCATED.fullmatch(value)
    if match is None or not _is_one_call(match[2]):
        return None
    parts = split_parts(match[2])
    if len(parts) < 2:
        return Allocate("", None)  # of a log that was cut
    shape, stride, *others = parts
    named = dict(part.split("=", 1) for part in others if "=" in part)
    dtype = named.get("dtype") or next((part for part in others if "=" not in part), "")
    device = match[1].removesuffix("_pinned").removesuffix("_p2p")
    sizes = read_dims(shape[1:-1]), read_dims(stride[1:-1])
    return make_allocation("", *sizes, dtype.removeprefix("torch."), device[1:], {}, 0)


def _masked(arguments: str) -> tuple[int, ...]:
    """The parts that the mask of a backward, such as [False, True, True], switches off."""
    if "True" not in arguments and "False" not in arguments:
        return ()
    for part in reversed(split_parts(arguments)):
        if mask := _MASK.fullmatch(part):
            values = mask[1].split(", ")
            return tuple(place for place, value in enumerate(values) if value == "False")
    return ()

"""Reads what a program that Inductor generated in C++ does with memory, from its text.

Packages have such programs. Each statement has a line of its own, and memory is held by handles
that let go of it when they are reset or at the end: what a name is in the program in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.analysis.memory.events import (
    Allocate,
    Call,
    Drop,
    Event,
    Give,
    Program,
    Share,
    Take,
    count_strided_bytes,
)

_START = re.compile(
    r"^(?:void|static void|inline void) (?:\w+::run_impl|inductor_entry_impl)\(", re.M
)
_INPUT = re.compile(r"auto (\w+) = std::move\(inputs\[\d+\]\);")
_CONSTANT = re.compile(r"(?:\[\[maybe_unused\]\] )?auto& (\w+) = constants_->at\(\d+\);")
_ARRAY = re.compile(
    r"(?:static constexpr|const) int64_t (?:\* ?)?(\w+)(?:\[\] = \{(.*)\}| ?= ?(?:NULL|nullptr));"
)
_NUMBER = re.compile(r"(?:const )?(?:int64_t|auto) (\w+) = ([^;]+);")
_DECLARED = re.compile(r"AtenTensorHandle (\w+);")
_CHECKED = re.compile(r"(?:AOTI_TORCH_ERROR_CODE_CHECK\()?(aoti_torch_\w+)\((.*)\);")
_HELD = re.compile(r"RAIIAtenTensorHandle (\w+)\((\w+)\);")
_MOVED = re.compile(r"auto (\w+) = std::move\((\w+)\);")
_VIEWED = re.compile(
    r"auto (\w+) = wrap_with_raii_handle_if_needed\(reinterpret_tensor_wrapper\((\w+), .*\)\);"
)
_HELD_VIEW = re.compile(r"auto (\w+) = RAIIAtenTensorHandle\((\w+)\);")
_RESET = re.compile(r"(\w+)\.reset\(\);")
_GIVEN = re.compile(
    r"output_handles\[(\d+)\] = (?:(\w+)\.release\(\)|output_handles\[(\d+)\]"
    r"|wrap_with_raii_handle_if_needed\(reinterpret_tensor_wrapper\((\w+), .*\)\)\.release\(\));"
)
_COPIED = re.compile(r"aoti_torch_clone\((\w+), &output_handles\[(\d+)\]\);")
_LAUNCHED = re.compile(r"(?:call_)?((?:cpp_|triton_)\w+)\(.*\);")
_COMMENT = re.compile(r"\s*//.*$")
_WORD = re.compile(r"\w+")
_EMPTY = "aoti_torch_empty_strided"
_VIEWS = (
    "aoti_torch_as_strided",
    "aoti_torch_new_tensor_handle",
    "aoti_torch__alloc_from_pool",
    "aoti_torch__reinterpret_tensor",
    "aoti_torch_cpu_view_dtype",
    "aoti_torch_cuda_view_dtype",
)
_IDLE = re.compile(
    r"__check_inputs_outputs\(|inputs\.clear\(|\[\[maybe_unused\]\]|if \(_check_aoti_runtime_check_"
    r"|auto inputs = |\w+Guard \w+|wrap_with_raii_handle_if_needed\(\w+\);|[{}]*$|auto \w+_size = "
    r"|auto \w+_stride = "
)
_BRANCH = re.compile(r"(?:\} )?(?:if|else if|while|for) ?\(.*\{$|(?:\} )?else \{$")
_MISALIGNED = "if ((reinterpret_cast<std::uintptr_t>("  # copies an input; in Python it is a call
_MATTERS = re.compile(r"aoti_torch_|_handle\b|\bbuf\d|output_handles")
_WRAPPERS = ("wrap_with_raii_handle_if_needed", "reinterpret_tensor_wrapper")
_TYPE = "cached_torch_dtype_"
_RESULT = "results of "


def is_cpp_program(text: str) -> bool:
    """Whether a text has the program of a model in C++."""
    return _START.search(text) is not None


def read_cpp_program(text: str, hints: Mapping[str, int]) -> Program | None:
    """The program of a text; None where it has none in C++.

    `hints` are sizes that were left open, by name, as in the call that was compiled.
    """
    body = _body(text)
    if body is None:
        return None
    reader = _Reader(dict(hints))
    events = tuple(reader.read(body))
    taken = Take(tuple(reader.inputs))
    used = bool(reader.sizes.keys() & set(hints))
    return Program((taken, *events), {}, reader.sizes, used, reader.branches, reader.unread)


def _body(text: str) -> list[str] | None:
    """The lines between the brackets of the function."""
    for match in _START.finditer(text):
        lines = text[match.start() : text.find("\n}", match.end())].splitlines()
        first = next((n for n, line in enumerate(lines) if line.rstrip().endswith("{")), None)
        if first is not None:
            return [_COMMENT.sub("", line).strip() for line in lines[first + 1 :]]
    return None


@dataclass
class _Reader:
    sizes: dict[str, int]
    inputs: list[str] = field(default_factory=list)
    branches: int = 0
    unread: int = 0
    _arrays: dict[str, str] = field(default_factory=dict)
    _handles: dict[str, str | None] = field(default_factory=dict)
    _outputs: dict[int, str | None] = field(default_factory=dict)
    _depth: int = 0

    def read(self, lines: list[str]) -> Iterator[Event]:
        for line in lines:
            if self._depth or _BRANCH.fullmatch(line):  # what it does is known when it runs
                self.branches += not self._depth and not line.startswith(_MISALIGNED)
                self._depth += line.count("{") - line.count("}")
                continue
            for statement in _statements(line):
                yield from self._statement(statement)
        places = range(max(self._outputs, default=-1) + 1)
        yield Give(tuple(self._outputs.get(place) for place in places))

    def _statement(self, code: str) -> Iterator[Event]:
        for pattern, read in _FORMS:
            found = pattern.fullmatch(code)
            if found is not None:
                yield from read(self, found)
                return
        self._not_read(code)

    def _not_read(self, code: str) -> None:
        self.unread += bool(_MATTERS.search(code)) and not _IDLE.match(code)

    def _input(self, found: re.Match[str]) -> Iterator[Event]:
        self.inputs.append(found[1])
        yield from ()

    def _array(self, found: re.Match[str]) -> Iterator[Event]:
        self._arrays[found[1]] = found[2] or ""
        yield from ()

    def _number(self, found: re.Match[str]) -> Iterator[Event]:
        value = self._value(found[2])
        if value is not None:
            self.sizes.setdefault(found[1], value)
        else:
            self._not_read(found[0])
        yield from ()

    def _declared(self, found: re.Match[str]) -> Iterator[Event]:
        self._handles[found[1]] = None
        yield from ()

    def _held(self, found: re.Match[str]) -> Iterator[Event]:
        """A name for what a handle refers to; one that a call has made has it already."""
        base = self._handles.get(found[2])
        if base is not None and base != found[1]:
            yield Share(found[1], base)

    def _moved(self, found: re.Match[str]) -> Iterator[Event]:
        yield from (Share(found[1], found[2]), Drop(found[2]))

    def _viewed(self, found: re.Match[str]) -> Iterator[Event]:
        yield Share(found[1], found[2])

    def _dropped(self, found: re.Match[str]) -> Iterator[Event]:
        yield Drop(found[1])

    def _given(self, found: re.Match[str]) -> Iterator[Event]:
        place = int(found[1])
        name = found[2] or found[4]
        self._outputs[place] = self._outputs.get(int(found[3])) if found[3] else name
        yield from ()

    def _copied(self, found: re.Match[str]) -> Iterator[Event]:
        name = f"{found[1]}_copy"
        yield Call("aoti_torch_clone", name)
        self._outputs[int(found[2])] = name

    def _launched(self, found: re.Match[str]) -> Iterator[Event]:
        yield Call(found[1])

    def _called(self, found: re.Match[str]) -> Iterator[Event]:
        """An allocation, a view, or a library call with what it makes."""
        function, given = found[1], found[2]
        words = _WORD.findall(given)
        made = [word for word in words if word in self._handles and self._handles[word] is None]
        names = [word.removesuffix("_handle") for word in made]
        for handle, name in zip(made, names, strict=True):
            self._handles[handle] = name
        if function.startswith(_EMPTY):
            yield Allocate(names[0], self._size(given))
        elif function in _VIEWS and made:
            base = next(word for word in words if word not in made and word not in _WRAPPERS)
            self._handles[made[0]] = self._handles.get(base) or base
        elif not made:
            yield Call(function)
        elif len(made) == 1:
            yield Call(function, names[0])
        else:
            whole = f"{_RESULT}{names[0]}"
            yield Call(function, whole)
            yield from (Share(name, whole, place) for place, name in enumerate(names))
            yield Drop(whole)

    def _size(self, given: str) -> int | None:
        """Bytes of `empty_strided(dimensions, sizes, strides, type, …)`."""
        _, sizes, strides, kind, *_ = given.split(", ")
        shape, stride = (self._numbers(self._arrays.get(name, "?")) for name in (sizes, strides))
        if shape is None or stride is None:
            return None
        return count_strided_bytes(shape, stride, kind.removeprefix(_TYPE))

    def _numbers(self, text: str) -> tuple[int, ...] | None:
        found = [self._value(part) for part in text.split(", ") if part]
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(found) else None

    def _value(self, text: str) -> int | None:
        """A number, a size with a name, a product of these; None for what is not known."""
        product = 1
        for part in text.replace("static_cast<int64_t>", "").strip("() ").split("*"):
            word = part.strip("() ")
            number = int(word[:-1]) if word[:-1].isdigit() and word[-1] == "L" else None
            number = int(word) if word.isdigit() else number
            value = self.sizes.get(word) if number is None else number
            if value is None:
                return None
            product *= value
        return product


def _statements(line: str) -> Iterator[str]:
    """The statements of a line: a name that is let go of stands behind the one that takes over."""
    first, *more = line.split("; ")
    if not all(_RESET.fullmatch(f"{part.removesuffix(';')};") for part in more):
        yield line
        return
    yield f"{first.removesuffix(';')};" if first.endswith(")") or more else first
    yield from (f"{part.removesuffix(';')};" for part in more)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[_Reader, re.Match[str]], Iterator[Event]]], ...] = (
    (_DECLARED, _Reader._declared),
    (_ARRAY, _Reader._array),
    (_HELD, _Reader._held),
    (_RESET, _Reader._dropped),
    (_MOVED, _Reader._moved),
    (_VIEWED, _Reader._viewed),
    (_HELD_VIEW, _Reader._held),
    (_COPIED, _Reader._copied),
    (_CHECKED, _Reader._called),
    (_LAUNCHED, _Reader._launched),
    (_GIVEN, _Reader._given),
    (_INPUT, _Reader._input),
    (_CONSTANT, _Reader._input),
    (_NUMBER, _Reader._number),
)

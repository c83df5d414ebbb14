"""The function that runs a generated program in C++, its statements read by their form.

Packages have such programs. Each statement has a line of its own, and memory is held by handles
that let go of it when they are reset or at the end: what a name is in the program in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from workbench.artifacts.programs.events import (
    Allocate,
    Branch,
    Call,
    Check,
    Drop,
    Event,
    Inputs,
    Note,
    Return,
    Share,
    make_allocation,
)
from workbench.artifacts.programs.size_text import evaluate, read_dims, split_parts

START = re.compile(
    r"^(?:void|static void|inline void) (?:\w+::run_impl|inductor_entry_impl)\(", re.M
)
RESULTS = "results of "
"""How the name begins that stands for all results of a call that makes several."""
_RESET = re.compile(r"(\w+)\.reset\(\);")
_CHECKED = re.compile(r"assert_size_stride\((\w+), \{(.*?)\}, \{(.*?)\}, \"(\w+)")
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


@dataclass
class CppReader:
    """Reads the lines of the function; afterwards `sizes`, `inputs` and `unread` are known."""

    sizes: dict[str, int]
    inputs: list[str] = field(default_factory=list)
    unread: int = 0
    _arrays: dict[str, str] = field(default_factory=dict)
    _handles: dict[str, str | None] = field(default_factory=dict)
    _outputs: dict[int, str | None] = field(default_factory=dict)
    _line: int = 0

    def read(self, text: str) -> tuple[Event, ...] | None:
        """The events of the function in a text; None where it has none."""
        for match in START.finditer(text):
            lines = text[match.start() : text.find("\n}", match.end())].split("\n")
            for place, line in enumerate(lines):
                if line.rstrip().endswith("{"):
                    first = text.count("\n", 0, match.start()) + place + 2
                    events = [*self._events(lines[place + 1 :], first)]
                    places = range(max(self._outputs, default=-1) + 1)
                    returned = Return(tuple(self._outputs.get(place) for place in places))
                    return Inputs(tuple(self.inputs)), *events, returned
        return None

    def _events(self, lines: Sequence[str], first: int) -> Iterator[Event]:
        inside: list[str] = []
        depth, is_check = 0, False
        for number, line in enumerate(lines, first):
            code, _, comment = line.partition("//")
            code = code.strip()
            if comment and not code:
                yield Note(comment.strip(), line=number)
            if depth or _BRANCH.fullmatch(code):  # what it does is known when it runs
                is_check = is_check if depth else code.startswith(_MISALIGNED)
                depth += code.count("{") - code.count("}")
                inside.append(line)
                if not depth:
                    own = CppReader({**self.sizes}, [], 0, {**self._arrays}, {**self._handles})
                    begin = number - len(inside) + 2
                    yield Branch(tuple(own._events(inside[1:], begin)), is_check, line=begin - 1)
                    inside = []
                continue
            self._line = number
            for statement in _statements(code):
                yield from self._statement(statement)

    def _statement(self, code: str) -> Iterator[Event]:
        for name, shape, stride, what in _CHECKED.findall(code):
            layout = read_dims(shape), read_dims(stride)
            yield Check(name, *layout, is_input=what == "input", line=self._line)
        for pattern, read_form in _FORMS:
            match = pattern.fullmatch(code)
            if match is not None:
                yield from read_form(self, match)
                return
        self._skip(code)

    def _skip(self, code: str) -> None:
        self.unread += bool(_MATTERS.search(code)) and not _IDLE.match(code)

    def _input(self, match: re.Match[str]) -> Iterator[Event]:
        self.inputs.append(match[1])
        yield from ()

    def _array(self, match: re.Match[str]) -> Iterator[Event]:
        self._arrays[match[1]] = match[2] or ""
        yield from ()

    def _number(self, match: re.Match[str]) -> Iterator[Event]:
        value = evaluate(match[2], self.sizes)
        if value is not None:
            self.sizes.setdefault(match[1], value)
        else:
            self._skip(match[0])
        yield from ()

    def _declared(self, match: re.Match[str]) -> Iterator[Event]:
        self._handles[match[1]] = None
        yield from ()

    def _held(self, match: re.Match[str]) -> Iterator[Event]:
        """A name for what a handle refers to; one that a call has made has it already."""
        base = self._handles.get(match[2])
        if base is not None and base != match[1]:
            yield Share(match[1], base, line=self._line)

    def _shared(self, match: re.Match[str]) -> Iterator[Event]:
        yield Share(match[1], match[2], line=self._line)
        if "std::move" in match[0]:
            yield Drop(match[2], line=self._line)

    def _dropped(self, match: re.Match[str]) -> Iterator[Event]:
        yield Drop(match[1], line=self._line)

    def _given(self, match: re.Match[str]) -> Iterator[Event]:
        name = match[2] or match[4]
        self._outputs[int(match[1])] = self._outputs.get(int(match[3])) if match[3] else name
        yield from ()

    def _copied(self, match: re.Match[str]) -> Iterator[Event]:
        name = f"{match[1]}_copy"
        yield Call("aoti_torch_clone", name, line=self._line)
        self._outputs[int(match[2])] = name

    def _launched(self, match: re.Match[str]) -> Iterator[Event]:
        yield Call(match[1], arguments=match[2], line=self._line)

    def _called(self, match: re.Match[str]) -> Iterator[Event]:
        """An allocation, a view, or a library call with what it makes."""
        function, arguments, line = match[1], match[2], self._line
        words = re.findall(r"\w+", arguments)
        results = [word for word in words if word in self._handles and self._handles[word] is None]
        names = [word.removesuffix("_handle") for word in results]
        self._handles.update(zip(results, names, strict=True))
        if function.startswith(_EMPTY):
            yield self._allocated(names[0], arguments)
        elif function in _VIEWS and results:
            base = next(word for word in words if word not in results and word not in _WRAPPERS)
            self._handles[results[0]] = self._handles.get(base) or base
        elif len(results) < 2:
            yield Call(function, names[0] if results else None, arguments=arguments, line=line)
        else:
            whole = f"{RESULTS}{names[0]}"
            yield Call(function, whole, arguments=arguments, line=line)
            yield from (Share(name, whole, place, line=line) for place, name in enumerate(names))
            yield Drop(whole, line=line)

    def _allocated(self, name: str, arguments: str) -> Allocate:
        """`empty_strided(dimensions, sizes, strides, type, device, …)`."""
        _, sizes, strides, dtype, device, *_ = split_parts(arguments)
        shape, stride = (read_dims(self._arrays.get(array, "?")) for array in (sizes, strides))
        dtype = dtype.removeprefix("cached_torch_dtype_")
        device = device.removeprefix("cached_torch_device_type_")
        return make_allocation(name, shape, stride, dtype, device, self.sizes, self._line)


def _statements(line: str) -> Iterator[str]:
    """The statements of a line: a name that is let go of stands behind the one that takes over."""
    first, *more = line.split("; ")
    if not all(_RESET.fullmatch(f"{part.removesuffix(';')};") for part in more):
        yield line
        return
    yield f"{first.removesuffix(';')};" if first.endswith(")") or more else first
    yield from (f"{part.removesuffix(';')};" for part in more)


_VIEW = r"wrap_with_raii_handle_if_needed\(reinterpret_tensor_wrapper\((\w+), .*\)\)"
_Form = tuple[str, Callable[[CppReader, re.Match[str]], Iterator[Event]]]
_FORMS = [
    (re.compile(pattern), read_form)
    for pattern, read_form in (
        (r"AtenTensorHandle (\w+);", CppReader._declared),
        (
            r"(?:static constexpr|const) int64_t (?:\* ?)?(\w+)"
            r"(?:\[\] = \{(.*)\}| ?= ?(?:NULL|nullptr));",
            CppReader._array,
        ),
        (r"RAIIAtenTensorHandle (\w+)\((\w+)\);", CppReader._held),
        (_RESET.pattern, CppReader._dropped),
        (r"auto (\w+) = std::move\((\w+)\);", CppReader._shared),
        (rf"auto (\w+) = {_VIEW};", CppReader._shared),
        (r"auto (\w+) = RAIIAtenTensorHandle\((\w+)\);", CppReader._held),
        (r"aoti_torch_clone\((\w+), &output_handles\[(\d+)\]\);", CppReader._copied),
        (
            r"(?:[A-Z_]+\()?(aoti_torch_\w+)\((.*?)\)?\);",
            CppReader._called,
        ),
        (r"(?:call_)?((?:cpp_|triton_)\w+)\((.*)\);", CppReader._launched),
        (
            r"output_handles\[(\d+)\] = (?:(\w+)\.release\(\)|output_handles\[(\d+)\]"
            rf"|{_VIEW}\.release\(\));",
            CppReader._given,
        ),
        (r"auto (\w+) = std::move\(inputs\[\d+\]\);", CppReader._input),
        (r"(?:\[\[maybe_unused\]\] )?auto& (\w+) = constants_->at\(\d+\);", CppReader._input),
        (r"(?:const )?(?:int64_t|auto) (\w+) = ([^;]+);", CppReader._number),
    )
]

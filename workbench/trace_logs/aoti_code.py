"""Kernels and buffers of a program of AOTInductor: its wrapper in C++, its kernels beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.trace_logs.kernel_code import (
    CodeKernel,
    LoggedProgram,
    find_defined_kernels,
    read_calls,
)

_KERNEL = re.compile(r'^extern "C"\s+void\s+(\w+)\(', re.MULTILINE)
_NEXT = re.compile(r"^#include ", re.MULTILINE)
_BODY = re.compile(r"^void AOTInductorModel::run_impl\(", re.MULTILINE)
_ARRAY = re.compile(r"(?:static constexpr|const) int64_t (\w+)\[\] = \{(.*)\};")
_MADE = re.compile(
    r"aoti_torch_empty_strided\(\w+, (\w+), (\w+), cached_torch_dtype_(\w+), "
    r"cached_torch_device_type_(\w+), .*&(\w+)_handle\)"
)
_CHECKED = re.compile(r"assert_size_stride\((\w+), \{(.*?)\}, \{(.*?)\}, \"input\"\)")
_MOVED = re.compile(r"auto (\w+) = std::move\((\w+)\);")
_RETURNED = re.compile(r"output_handles\[\d+\] = (\w+)\.release\(\)")
_LIBRARY = re.compile(r"aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+)\((.*)\)\);")
_RESULT = re.compile(r"&(\w+)_handle\b")
_LONG = re.compile(r"\b(\d+)L+\b")


def parse_aoti(wrapper: str, kernels: str) -> LoggedProgram:
    """Read the two files of one program as if it were in Python; `kernels` may be empty."""
    defined = {**dict(find_defined_kernels(wrapper)), **dict(_defined(kernels))}
    start = _BODY.search(wrapper)
    lines = wrapper[start.start() if start else len(wrapper) :].split("\n")
    return read_calls(defined, _as_python(lines, defined), is_backward=False)


def _defined(text: str) -> Iterator[tuple[str, CodeKernel]]:
    for found in _KERNEL.finditer(text):
        end = _NEXT.search(text, found.end())
        body = text[found.start() : end.start() if end else len(text)]
        yield found[1], CodeKernel(found[1], "cpp", body.strip("\n"))


def _as_python(lines: list[str], defined: dict[str, CodeKernel]) -> Iterator[str]:
    """The lines that matter, as the generator for Python would have written them."""
    arrays: dict[str, str] = {}
    returned: list[str] = []
    for line in map(str.strip, lines):
        if line.startswith("// "):
            yield f"# {line[3:]}"
        elif array := _ARRAY.match(line):
            arrays[array[1]] = _tuple(array[2])
        elif made := _MADE.search(line):
            sizes = ", ".join(arrays.get(name, "()") for name in (made[1], made[2]))
            yield f"{made[5]} = empty_strided_{made[4]}({sizes}, torch.{made[3]})"
        elif checked := _CHECKED.search(line):
            yield f"assert_size_stride({checked[1]}, {_tuple(checked[2])}, (), 'input')"
        elif moved := _MOVED.match(line):
            yield f"{moved[1]} = {moved[2]}"
        elif output := _RETURNED.match(line):
            returned.append(output[1])
        elif library := _LIBRARY.search(line):
            yield _library(library[1], library[2])
        else:
            called = line.removeprefix("call_").removesuffix(";")
            if called.partition("(")[0] in defined:
                yield called
    yield f"return ({', '.join(returned)}, )"


def _tuple(sizes: str) -> str:
    plain = _LONG.sub(r"\1", sizes).strip().rstrip(",")
    return f"({plain}, )"


def _library(name: str, arguments: str) -> str:
    """A call of the C interface, whose result is its first argument or a handle at the end."""
    if name.endswith("_out"):
        out, _, rest = arguments.partition(", ")
        return f"extern_kernels.{name.removesuffix('_out')}({rest}, out={out})"
    result = _RESULT.search(arguments)
    call = f"torch.ops.aten.{name}({_RESULT.sub('', arguments)})"
    return call if result is None else f"{result[1]} = {call}"

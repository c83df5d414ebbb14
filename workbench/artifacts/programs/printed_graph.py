"""Nodes of FX graphs with their types, read from the Python that torch prints for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from workbench.artifacts.programs.size_text import ITEM_BYTES, Dims, bytes_of, read_dims

_TENSOR = re.compile(r"(?:\w+\()?([a-z]\w*)\[([^\]]*)\](?:\[([^\]]*)\])?(\w+(?::\d+)?)?")
_DTYPES = {
    **{"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64", "b8": "bool"},
    **{"c32": "complex32", "c64": "complex64", "c128": "complex128", "bits16": "bits16"},
    **{"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"},
    **{"u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"},
    **{"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz"},
    **{"f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu"},
    **{"f4e2m1fnx2": "float4_e2m1fn_x2"},
}
"""Torch's abbreviations (torch/utils/_dtype_abbrs.py) with the names."""

_PLACE = re.compile(r"# (?:.*? )?File: (.+?):(\d+) in (.+?), code: (.*)")
_ARGUMENT = re.compile(r'(\*{0,2}\w+)(?:: "([^"]*)")?(?: = [^,)]+)?\s*(?=,|\)|$)')
_ASSIGNED = re.compile(r'(\w+)(?:: "([^"]*)"| : [^=]*?)? = (.+)')
_IN_PLACE = re.compile(r'(\w+(?:\[.*\])?) (\S*=) (.*?);  (\w+)(?:: "([^"]*)")? = \w+')
_DECLARED = re.compile(r'(\w+): "([^"]*)"(?:  #.*)?$')
_FLATTENED = re.compile(r"((?:\w+, )+)= fx_pytree\.tree_flatten_spec\(")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)$", re.DOTALL)
_NAME = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)\b(?! = )")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_BINARY = re.compile(r"(\S+) (\*\*|//|<<|>>|==|!=|<=|>=|[-+*/@%&|^<>]) (\S+)$")
_OPERATORS = {
    **{"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"},
    **{"@": "matmul", "**": "pow", "&": "and_", "|": "or_", "^": "xor", "<<": "lshift"},
    **{">>": "rshift", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"},
}
_UNARY = {"-": "neg", "+": "pos", "~": "invert"}
Place = tuple[str, int, str, str]
"""File, line, function and text of the line behind a node."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """What is known of a value; sizes may be symbolic, `bytes` is None then."""

    shape: Dims | None = None
    stride: Dims | None = None
    dtype: str | None = None
    device: str | None = None
    bytes: int | None = None


_UNKNOWN = TensorType()


@lru_cache(maxsize=16384)  # stages repeat the types of each other
def parse_tensor_type(text: str | None) -> TensorType:
    """The type that a text names; of a number or a tuple nothing is known."""
    match = None if text is None else _TENSOR.match(text)
    if match is None or match[1] not in _DTYPES:
        return _UNKNOWN
    dtype = _DTYPES[match[1]]
    shape = read_dims(match[2])
    stride = None if match[3] is None else read_dims(match[3])
    return TensorType(shape, stride, dtype, match[4], bytes_of(shape, ITEM_BYTES[dtype]))


@dataclass(frozen=True, slots=True)
class TextNode:
    """One node as the text shows it; `inputs` are names of nodes, in the order of their use.

    `code` is the expression that computes it.
    """

    name: str
    op: str
    target: str
    inputs: tuple[str, ...]
    type: TensorType
    place: Place | None
    code: str = ""


def parse_graph(text: str) -> list[TextNode]:
    """The nodes of the outermost graph in a text; lines that are no statement are passed over."""
    reader = _Reader()
    lines = iter(text.split("\n"))
    for line in lines:
        if line.lstrip().startswith("def forward("):
            reader.signature(_signature(line, lines))
            break
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("class "):  # a graph inside of this one
            break
        if stripped:
            reader.line(stripped, lines)
    return reader.finish()


def _signature(first: str, lines: Iterable[str]) -> str:
    """The arguments of `forward`, from one line or from one line each, without comments."""
    if first.rstrip().endswith("):"):
        return first.strip().removeprefix("def forward(").removesuffix("):")
    return _enclosed(lines)


def _enclosed(lines: Iterable[str]) -> str:
    """The lines up to a closing bracket as one, without comments."""
    bare = (line.partition("  # ")[0].strip() for line in lines)
    return " ".join(takewhile(lambda part: not part.startswith((")", "]")), bare))


class _Reader:
    """Reads the statements of one graph."""

    def __init__(self) -> None:
        self.nodes: list[TextNode] = []
        self._arguments: dict[str, str | None] = {}
        self._declared: dict[str, str] = {}
        self._names: dict[str, str] = {}  # of placeholders, by the name of the argument
        self._known: set[str] = set()
        self._place: Place | None = None

    def signature(self, text: str) -> None:
        """Take the arguments of `forward`."""
        for name, type_ in _ARGUMENT.findall(text):
            if name != "self":
                self._arguments[name] = type_ or None

    def line(self, line: str, lines: Iterable[str]) -> None:
        """Take one statement or comment."""
        if line.startswith("#"):
            match = _PLACE.match(line)
            self._place = (match[1], int(match[2]), match[3], match[4]) if match else None
            return
        if line.startswith("return"):
            self._start()
            self._output(line, lines)
            return
        if self._arguments and (self._renames(line) or self._flattens(line)):
            return
        self._start()
        self._statement(line)

    def _renames(self, line: str) -> bool:
        name, _, argument = line.partition(" = ")
        argument = argument.partition(";")[0]
        if argument not in self._arguments:
            return False
        self._names[argument] = name
        return True

    def _flattens(self, line: str) -> bool:
        """Take the inputs of a graph whose arguments hold several: their types come before."""
        declared, flattened = _DECLARED.match(line), _FLATTENED.match(line)
        if declared is not None:
            self._declared[declared[1]] = declared[2]
        if flattened is not None:
            names = flattened[1].removesuffix(", ").split(", ")
            self._arguments = {name: self._declared.get(name) for name in names}
        return declared is not None or flattened is not None

    def _start(self) -> None:
        """Write the placeholders down, before the first node that uses one."""
        for argument, type_ in self._arguments.items():
            target = argument.lstrip("*")
            name = self._names.get(target, target)
            self._add(TextNode(name, "placeholder", argument, (), parse_tensor_type(type_), None))
        self._arguments = {}

    def _add(self, node: TextNode) -> None:
        self.nodes.append(node)
        self._known.add(node.name)

    def _statement(self, line: str) -> None:
        changed = _IN_PLACE.match(line)
        if changed is not None and changed[2] != "=":
            operator = "operator.i" + _OPERATORS.get(changed[2][:-1], changed[2][:-1])
            inputs = self._inputs(f"{changed[1]}, {changed[3]}")
            self._node(changed[4], "call_function", operator, inputs, changed[5])
            return
        if changed is not None and "[" in changed[1]:
            inputs = self._inputs(f"{changed[1]}, {changed[3]}")
            self._node(changed[4], "call_function", "operator.setitem", inputs, changed[5])
            return
        body, _, _ = line.partition(";  ")
        match = _ASSIGNED.match(body)
        if match is not None:
            op, target, used = _expression(match[3], self._known.__contains__)
            self._node(match[1], op, target, self._inputs(used), match[2], match[3])

    def _node(
        self,
        name: str,
        op: str,
        target: str,
        inputs: tuple[str, ...],
        type_: str | None,
        code: str = "",
    ) -> None:
        self._add(TextNode(name, op, target, inputs, parse_tensor_type(type_), self._place, code))

    def _inputs(self, text: str) -> tuple[str, ...]:
        if "'" in text or '"' in text:
            text = _STRING.sub("''", text)
        names = self._known
        return tuple(dict.fromkeys(n for n in _NAME.findall(text) if n in names))

    def _output(self, line: str, lines: Iterable[str]) -> None:
        text = line.removeprefix("return").strip()
        inputs = self._inputs(_enclosed(lines) if text.endswith(("(", "[")) else text)
        self._add(TextNode("output", "output", "output", inputs, parse_tensor_type(None), None))

    def finish(self) -> list[TextNode]:
        """The nodes in their order."""
        self._start()
        return self.nodes


def _expression(text: str, is_node: Callable[[str], bool]) -> tuple[str, str, str]:
    """What an expression does: the op, the target, and the text that names the inputs."""
    call = _CALL.match(text)
    if call is not None:
        return _called(call[1], call[2], is_node)
    if text.startswith("self."):
        return "get_attr", text.removeprefix("self."), ""
    binary = _BINARY.match(text)
    if binary is not None:
        return "call_function", f"operator.{_OPERATORS[binary[2]]}", text
    if text[:1] in _UNARY:
        return "call_function", f"operator.{_UNARY[text[0]]}", text[1:]
    head, dot, _ = text.partition(".")
    if dot and is_node(head) and "[" not in head:
        return "call_function", "builtins.getattr", head
    if text.endswith("]"):
        return "call_function", "operator.getitem", text
    return "call_function", text, text


def _called(callee: str, arguments: str, is_node: Callable[[str], bool]) -> tuple[str, str, str]:
    if callee.startswith("torch.ops."):
        return "call_function", _operator(callee), arguments
    head, _, rest = callee.partition(".")
    if head == "self":
        return "call_module", rest, arguments
    if rest and is_node(head):
        return "call_method", rest, f"{head}, {arguments}"
    return "call_function", _function(callee), arguments


@lru_cache(maxsize=4096)
def _operator(callee: str) -> str:
    """The name under which torch knows an operator."""
    return callee.removeprefix("torch.ops.").removeprefix("higher_order.")


@lru_cache(maxsize=4096)
def _function(callee: str) -> str:
    """The name under which a live record has a function: most of `torch` is of one class."""
    head, dot, name = callee.partition(".")
    if head == "torch" and dot and "." not in name and not name.startswith(("_", "sym_")):
        return f"torch._VariableFunctionsClass.{name}"
    return callee

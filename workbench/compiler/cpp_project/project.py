"""Writing and building a small CMake project that runs one model of a package from C++."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import torch

from workbench.artifacts.manifest.package_manifest import (
    MANIFEST,
    PackagedConstant,
    PackagedModel,
    PackagedOutput,
    PackageManifest,
)
from workbench.compiler.contract.contract import Leaf, is_contiguous, is_dynamic, order_of
from workbench.compiler.package_calls.call_check import CallContract
from workbench.compiler.package_calls.signature import CallSignature
from workbench.compiler.running.loaded import LoadedModel
from workbench.compiler.sizes import dims
from workbench.compiler.sizes.dims import Relation
from workbench.device_kinds import ATEN
from workbench.errors import UsageError, WorkbenchError
from workbench.file_path import check_file_path
from workbench.report.atomic import write_saved_folder

INPUTS = "example_inputs.pt"
OUTPUTS = "example_outputs.pt"
WEIGHTS = {
    "inside": "The weights are in the package. `update_weights` replaces them while calls run.",
    "beside": (
        "The weights are members of the package and are mapped from the file, not copied: keep the "
        "file\n  as long as a client exists. `update_weights` replaces them while calls run."
    ),
    "later": (
        "The package holds no weights. Call `update_weights` before the first `run`; their names "
        "are in\n  `kWeights` of `contract.hpp`. `example` (as its fourth argument) and "
        "`benchmark` (`--weights`)\n  read them from a file written by "
        "`torch.save(dict(model.state_dict()), file)`."
    ),
}


@dataclass(frozen=True)
class Example:
    """Tensors that the library takes, in its order, and what it returns for them in Python."""

    inputs: Sequence[torch.Tensor]
    outputs: Sequence[torch.Tensor | None]


def project_of(
    folder: str | PathLike[str],
    package: Path,
    manifest: PackageManifest,
    loaded: LoadedModel,
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]] | None,
    *,
    libraries: Sequence[str | PathLike[str]] = (),
    overwrite: bool,
) -> Path:
    """Write the project of a loaded model, with an example run here; see `Package.cpp_project`."""
    model = loaded.model
    linked = _linked(model, libraries)
    if arguments is None:
        inputs = make_example_inputs(list_input_leaves(model))
    else:
        inputs = read_inputs(model, *arguments)
    outputs = [None if v is None else torch.as_tensor(v) for v in loaded.run_flat(inputs)]
    example = Example(inputs, outputs)
    return write_project(
        folder, package, manifest, model, example, libraries=linked, overwrite=overwrite
    )


def read_inputs(
    model: PackagedModel, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[torch.Tensor]:
    """The tensors that the library takes of a call; raises `ContractError` for one that misfits."""
    contract = call_contract(model)
    leaves = contract.examine(CallSignature.of(model).leaves(args, kwargs))
    return [leaves[place] for place in contract.tensors]


def _linked(model: PackagedModel, libraries: Sequence[str | PathLike[str]]) -> list[Path]:
    """The libraries with custom operators; raises `UsageError` where they are needed or missing."""
    if model.operators and not libraries:
        raise UsageError(
            f"{model.name} calls {', '.join(model.operators)}, which has no C++ schema in a "
            "program without Python. Register it in C++ with TORCH_LIBRARY, build a library and "
            "pass it: cpp_project(folder, libraries=[path])."
        )
    paths = [Path(check_file_path(library)).resolve() for library in libraries]
    for path in paths:
        if not path.is_file():
            raise UsageError(
                f"The library {path} does not exist. Build it first, or correct the path."
            )
    return paths


def write_project(
    folder: str | PathLike[str],
    package: Path,
    manifest: PackageManifest,
    model: PackagedModel,
    example: Example,
    *,
    libraries: Sequence[Path] = (),
    overwrite: bool = False,
) -> Path:
    """Write the project of one model of the file `package` and return its folder.

    Raises UsageError for a folder that holds something, unless `overwrite` allows to replace the
    files of the same names.
    """
    target = Path(check_file_path(folder))
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file: name a folder for the C++ project.")
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise UsageError(
            f"The folder {target} is not empty. Name another one, or pass overwrite=True to "
            "replace an earlier project."
        )
    texts = render_files(package, manifest, model, libraries)
    with write_saved_folder(target) as staging:
        for name, text in texts.items():
            (staging / name).parent.mkdir(exist_ok=True)
            (staging / name).write_text(text, encoding="utf-8")
        for name, tensors in ((INPUTS, example.inputs), (OUTPUTS, example.outputs)):
            content = BytesIO()  # torch's own writer says of a full disk that it is at fault
            torch.save([None if t is None else t.detach().cpu() for t in tensors], content)
            (staging / name).write_bytes(content.getbuffer())
    return target


def render_files(
    package: Path,
    manifest: PackageManifest,
    model: PackagedModel,
    libraries: Sequence[Path] = (),
) -> dict[str, str]:
    """The texts of the project's files by their path in its folder."""
    values = {
        **build_contract_values(model),
        **_readme_values(model),
        "package": package.name,
        "package_literal": write_cpp_literal(package.name),
        "path": str(package.resolve()),
        "model": model.name,
        "model_path": quote(model.name, safe=""),
        "namespace": name_namespace(package),
        "torch": manifest.versions.torch,
        "libraries": _link_lines(name_namespace(package), libraries),
    }
    templates = files("workbench.compiler.cpp_project") / "templates"
    return {name: Template(text).substitute(values) for name, text in _texts(templates)}


def _texts(folder: Traversable, place: str = "") -> Iterator[tuple[str, str]]:
    """The templates in a folder and below it, by path."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{place}{entry.name}/")
        else:
            yield place + entry.name, entry.read_text(encoding="utf-8")


def _link_lines(target: str, libraries: Sequence[Path]) -> str:
    """Lines of CMake that link libraries whose only use is that they register operators."""
    if not libraries:
        return ""
    flags = [f'  "-Wl,--no-as-needed,{path},--as-needed"' for path in libraries]
    folders = [f'  "{folder}"' for folder in dict.fromkeys(path.parent for path in libraries)]
    lines = [
        "",
        "# Linked even if nothing calls them: custom operators register when they are loaded.",
        f"target_link_libraries({target} PUBLIC",
        *flags,
        ")",
        "list(APPEND CMAKE_BUILD_RPATH",
        *folders,
        ")",
        "",
    ]
    return "\n".join(lines)


def name_namespace(package: Path) -> str:
    """The C++ namespace of a package's client, such as `gpt2_client` for `gpt2.pt2`."""
    name = re.sub(r"\W+", "_", package.stem, flags=re.ASCII).strip("_").lower() or "model"
    return f"model_{name}_client" if name[0].isdigit() else f"{name}_client"


def _readme_values(model: PackagedModel) -> Mapping[str, str]:
    leaves = list_input_leaves(model)
    names = [re.sub(r"\W+", "_", str(leaf.path), flags=re.ASCII).strip("_") for leaf in leaves]
    rows = [f"| `{leaf.path}` | {leaf.dtype} | {dims.text(leaf.shape)} |" for leaf in leaves]
    outputs = [
        f"| {i} | {output.dtype} | [{', '.join(map(str, output.shape))}] |"
        for i, output in enumerate(model.outputs)
    ]
    table = ["| input | dtype | shape |", "| --- | --- | --- |", *rows]
    return {
        "arguments": ", ".join(names),
        "input_rows": "\n".join(table),
        "output_rows": "\n".join(outputs),
        "weights_text": WEIGHTS[model.weights],
    }


def make_example_inputs(leaves: Sequence[Leaf], seed: int = 0) -> list[torch.Tensor]:
    """Inputs that fit a contract: the sizes of the example call, floats normal, the rest zero."""
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for leaf in leaves:
        tensor = leaf.like.empty()
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.copy_(torch.randn(leaf.sizes, generator=generator))
        else:
            tensor.zero_()
        tensors.append(tensor)
    return tensors


DTYPES: Mapping[str, str] = {
    "float64": "at::kDouble",
    "float32": "at::kFloat",
    "float16": "at::kHalf",
    "bfloat16": "at::kBFloat16",
    "int64": "at::kLong",
    "int32": "at::kInt",
    "int16": "at::kShort",
    "int8": "at::kChar",
    "uint8": "at::kByte",
    "bool": "at::kBool",
    "complex64": "at::kComplexFloat",
    "complex128": "at::kComplexDouble",
    "uint16": "at::kUInt16",
    "uint32": "at::kUInt32",
    "uint64": "at::kUInt64",
    "float8_e4m3fn": "at::kFloat8_e4m3fn",
    "float8_e5m2": "at::kFloat8_e5m2",
    "float8_e4m3fnuz": "at::kFloat8_e4m3fnuz",
    "float8_e5m2fnuz": "at::kFloat8_e5m2fnuz",
}
_INFIX: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "&&",
    ast.Or: "||",
}
_CALLS = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}
_NAMED_CALLS = {"max": "std::max", "min": "std::min"}


def build_contract_values(model: PackagedModel) -> dict[str, str]:
    """What fills the places of the templates, except the names of the package and its namespace.

    Raises UsageError for a model whose inputs C++ code cannot hand over.
    """
    flags = model.isa.flags if model.isa else ()
    return {
        "model_literal": write_cpp_literal(model.name),
        "device": _named(ATEN, model.device.partition(":")[0], "device"),
        "manifest": write_cpp_literal(MANIFEST),
        "library": write_cpp_literal(model.library),
        "weights_kind": f"Stored::k{model.weights.capitalize()}",
        "writes_buffers": str(any(c.mutated for c in model.constants)).lower(),
        "flag_count": str(len(flags)),
        "flags": ", ".join(map(write_cpp_literal, flags)),
        "inputs": "".join(map(_input, list_input_leaves(model))),
        "relations": "".join(map(write_relation, call_contract(model).terms.relations)),
        "weights": "".join(map(_weight, model.constants)),
        "outputs": "".join(map(_output, model.outputs)),
    }


def call_contract(model: PackagedModel) -> CallContract:
    """What a call has to be; raises UsageError where the package does not say it."""
    if not model.contract:
        raise UsageError(
            "The package has no input contract, because torch itself wrote it. Make it with "
            "wb.package."
        )
    return CallContract.of(model.name, model.contract, torch.device(model.device))


def list_input_leaves(model: PackagedModel) -> list[Leaf]:
    """The tensors that the library takes, in its order."""
    contract = call_contract(model)
    return [contract.leaves[place] for place in contract.tensors]


def write_cpp_literal(text: str) -> str:
    """A C++ string literal; JSON's escapes are C++'s for all characters of names."""
    return json.dumps(text, ensure_ascii=False)


def _named(table: Mapping[str, str], name: str, what: str) -> str:
    if name not in table:
        raise UsageError(
            f"No C++ project supports {what} {name}: expected one of {', '.join(table)}."
        )
    return table[name]


def _row(*fields: str) -> str:
    return "    {" + ",\n     ".join(fields) + "},\n"


def _braced(values: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _input(leaf: Leaf) -> str:
    order = order_of(leaf) if is_dynamic(leaf) or is_contiguous(leaf) else None
    exact = f".order = {{}}, .strides = {_braced(leaf.stride)}"
    layout = exact if order is None else f".order = {_braced(order)}"
    return _row(
        f".name = {write_cpp_literal(str(leaf.path))}",
        f".dtype = {_named(DTYPES, leaf.dtype, 'dtype')}",
        f".device = {_named(ATEN, leaf.device, 'device')}",
        f".sizes = {_braced([_size(size) for size in leaf.shape])}",
        layout,
    )


def _size(size: dims.Size) -> str:
    if isinstance(size, int):
        return f"{{.fixed = {size}}}"
    parts = {
        "dim": "" if size.name is None else write_cpp_literal(size.name),
        "min": "" if size.min is None else str(size.min),
        "max": "" if size.max is None else str(size.max),
        "scale": "" if size.scale == 1 else str(size.scale),
        "offset": "" if size.offset == 0 else str(size.offset),
    }
    return _braced([f".{name} = {value}" for name, value in parts.items() if value])


def write_relation(relation: Relation) -> str:
    """One relation between dimensions; raises UsageError for what C++ code cannot check."""
    names, code = write_condition(relation.source)
    return _row(
        f".text = {write_cpp_literal(relation.text)}",
        f".dims = {_braced([write_cpp_literal(name) for name in names])}",
        f".holds = [](const std::vector<std::int64_t>& v) {{ return {code}; }}",
    )


def _output(output: PackagedOutput) -> str:
    if output.type == "NoneType":
        return _row(".dtype = at::ScalarType::Undefined", ".shape = {}")
    sizes = [size if isinstance(size, int) else -1 for size in output.shape]
    return _row(f".dtype = {_named(DTYPES, output.dtype, 'dtype')}", f".shape = {_braced(sizes)}")


def _weight(constant: PackagedConstant) -> str:
    names = f".name = {write_cpp_literal(constant.name)}, .fqn = {write_cpp_literal(constant.fqn)}"
    aliases = f".aliases = {_braced([write_cpp_literal(name) for name in constant.aliases])}"
    place = f".member = {write_cpp_literal(constant.member or '')}, .offset = {constant.offset}"
    return _row(
        names,
        *([aliases] if constant.aliases else []),
        f".dtype = {_named(DTYPES, constant.dtype, 'dtype')}",
        f".shape = {_braced(constant.shape)}",
        f".stride = {_braced(constant.stride)}",
        *([place] if constant.member else []),
    )


# Python's arithmetic of whole numbers, as the relations of a contract use it


def write_condition(source: str) -> tuple[tuple[str, ...], str]:
    """The names in a condition, and the condition in C++ with `v[i]` for the i-th name.

    Raises UsageError for more than arithmetic and comparisons of whole numbers.
    """
    try:
        tree = ast.parse(source, mode="eval").body
        names = tuple(dict.fromkeys(_names(tree)))
        return names, _code(tree, names)
    except (SyntaxError, KeyError, TypeError) as error:
        raise UsageError(
            f"The package assumes {source}, which has no counterpart in C++ ({error}). Declare the "
            "dimensions to make the assumption unnecessary, or fix their sizes."
        ) from error


def _names(tree: ast.expr) -> list[str]:
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name for name in names if name not in _NAMED_CALLS]


def _code(node: ast.expr, names: tuple[str, ...]) -> str:
    match node:
        case ast.Constant(value=int() as value):
            return f"std::int64_t{{{value}}}"
        case ast.Name(id=name):
            return f"v[{names.index(name)}]"
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_code(node.operand, names)}"
        case ast.UnaryOp(op=ast.Not()):
            return f"!{_code(node.operand, names)}"
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod() as operator):
            return _call(_CALLS[type(operator)], [node.left, node.right], names)
        case ast.BinOp():
            return _joined([node.left, node.right], _INFIX[type(node.op)], names)
        case ast.BoolOp():
            return _joined(node.values, _INFIX[type(node.op)], names)
        case ast.Compare():
            values = [node.left, *node.comparators]
            pairs = zip(values, node.ops, values[1:], strict=False)
            tests = [_joined([a, b], _INFIX[type(op)], names) for a, op, b in pairs]
            return tests[0] if len(tests) == 1 else f"({' && '.join(tests)})"
        case ast.Call(func=ast.Name(id=name)):
            return _call(_NAMED_CALLS[name], node.args, names)
        case _:
            raise TypeError(ast.unparse(node))


def _call(function: str, arguments: list[ast.expr], names: tuple[str, ...]) -> str:
    return f"{function}({', '.join(_code(argument, names) for argument in arguments)})"


def _joined(values: list[ast.expr], operator: str, names: tuple[str, ...]) -> str:
    return "(" + f" {operator} ".join(_code(value, names) for value in values) + ")"


_TAIL = 1000  # characters of what a failing build wrote
_MISSING = {  # what CMake says, and what that means
    "CMAKE_MAKE_PROGRAM is not set": "no build program was found: pip install ninja",
    "No CMAKE_CXX_COMPILER could be found": "no compiler was found: install one, such as g++",
}


def build(folder: Path, target: str) -> Path:
    """Configure the project in `folder`, build one of its programs, and return its path.

    Raises `WorkbenchError` without CMake or a compiler, and with the last words of a failing build.
    """
    cmake = _tool("cmake")
    if cmake is None:
        raise WorkbenchError(
            "The build needs CMake and a C++20 compiler, but CMake was not found: pip install "
            "cmake."
        )
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    ninja = _tool("ninja")
    faster = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    _run([cmake, "-S", ".", "-B", "build", *faster, prefix], folder)
    _run([cmake, "--build", "build", "--target", target, "-j2"], folder)
    return folder / "build" / target


def _tool(name: str) -> str | None:
    """A program on the path, or beside this Python, where pip installs it."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    output = (done.stdout + done.stderr).strip()
    for sign, missing in _MISSING.items():
        if sign in output:
            raise WorkbenchError(f"The build needs CMake and a C++20 compiler, but {missing}.")
    first = re.search(r"^.*\berror:? .*$", output, re.MULTILINE | re.IGNORECASE)
    words = f"{first[0].strip()}\n" if first else ""
    raise WorkbenchError(
        f"The C++ program cannot be built. {words}The build ends with:\n{output[-_TAIL:]}"
    )

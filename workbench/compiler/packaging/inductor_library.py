"""AOTInductor for one exported program: the files of its library, what they hold, the record."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.machine.elf_loading import clear_executable_stack, require_shared_runtime
from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.packaging.package_request import BESIDE, INSIDE, LATER
from workbench.compiler.sizes.shapes import sizes_assumed
from workbench.errors import CaptureError
from workbench.report import Report

_COMMANDS = "// Compile cmd"  # what torch adds at the end: the compiler's command lines
_ALIGNMENT = 64  # bytes; between constants in torch's blob, but for one of a GPU
_KEEP = "always_keep_tensor_constants"
_LIBRARIES = "aot_inductor.custom_op_libs"
_FOLDS = "joint_graph_constant_folding"
_WEIGHTS: Mapping[str, Mapping[str, Any]] = {
    INSIDE: {},
    BESIDE: {
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.package_constants_on_disk_format": "binary_blob",
    },
    LATER: {"aot_inductor.package_constants_in_so": False},
}


@dataclass
class Library:
    """What was seen of one library when its code was written; filled while it is compiled."""

    constants: tuple[PackagedConstant, ...] = ()
    needs_proxy: bool = False
    device: str = "cpu"
    seen: bool = field(default=False)
    values: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Elsewhere:
    """What is different of a library for a virtual GPU: nothing of it can be run.

    `target` is the GPU's name among the targets, `arch` what the machine code is for, `torch` the
    release that loads it, `report` the record of its compilation.
    """

    target: str
    arch: str
    torch: str
    report: Report
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """The files that torch made for one library, by their name in its folder.

    `assumed` is what torch supposed about sizes while it compiled, in its own symbols.
    """

    files: Mapping[str, Path]
    library: Library
    has_weights: bool = True
    assumed: tuple[str, ...] = ()
    elsewhere: Elsewhere | None = None

    def named(self, suffix: str) -> str | None:
        """The one file with a suffix, or None."""
        return next((name for name in self.files if name.endswith(suffix)), None)


BuildLibrary = Callable[..., Built]
"""Compiles a library as `build` does, here or for a virtual GPU."""


def build_inductor_options(weights: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Inductor's options for a package.

    Constants stay tensors unless the user asks otherwise: torch writes those of up to eight
    elements into the code, where new weights never reach them.
    """
    return {_KEEP: True, **chosen, **_WEIGHTS[weights]}


def build(
    program: Any,
    example: tuple[tuple[Any, ...], Mapping[str, Any]],
    options: Mapping[str, Any],
    folder: Path,
    *,
    any_size: bool = False,
) -> Built:
    """Compile into `folder` for an example call; torch names the files by their content's hash.

    `any_size` is that of the exported program.
    """
    module = program.module(check_guards=False)
    args, kwargs = tuple(example[0]), dict(example[1])
    # torch 2.13 writes the device and the environment into this dict of its configuration, where
    # they stay: every later compilation of the process would miss torch's cache
    metadata = tp.INDUCTOR_CONFIG.get().aot_inductor.metadata
    ours = {
        "aot_inductor.package": True,
        "aot_inductor.output_path": str(folder),
        "aot_inductor.metadata": {**options.get("aot_inductor.metadata", metadata)},
    }
    if lacks_shared_runtime(tp.CPP_COMPILER.get()()):
        libraries = options.get(_LIBRARIES) or ()
        ours[_LIBRARIES] = [*libraries, ":libstdc++.so.6"]
    if any(value.numel() == 1 for value in program.state_dict.values()):
        # torch takes a weight or buffer of one element for a constant: neither new weights nor
        # what the model itself writes into a buffer would ever reach the code
        options = {_FOLDS: False, **options}
    with (
        watched() as library,
        _noted_guards() as assumed,
        sizes_assumed(not any_size),
        warnings.catch_warnings(),
    ):
        # torch copies a class of its own that it has deprecated
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        compiled = tp.AOTI_COMPILE.get()(module, args, kwargs, options={**options, **ours})
    if not isinstance(compiled, list) or not library.seen:
        raise CaptureError(
            "torch returned no library for this program. Leave out options that replace "
            "AOTInductor's code generation, such as fx_wrapper."
        )
    files = [Path(file) for file in compiled if isinstance(file, str) and file]
    for file in files:
        if file.suffix == ".so":
            require_shared_runtime(file)  # before a package that nobody can load is written
    has_weights = bool(options.get("aot_inductor.package_constants_in_so", True))
    return Built({f.name: f for f in files}, library, has_weights, tuple(assumed))


def lacks_shared_runtime(compiler: str) -> bool:
    """Whether its linker finds only a static libstdc++, but the shared one by its full name.

    Images have been seen without the link `libstdc++.so`. What is linked there has a C++ runtime
    of its own, which ends the process (see `machine.elf_loading`).
    """
    paths = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        ).stdout
        for name in ("libstdc++.so", "libstdc++.a", "libstdc++.so.6")
    ]
    return [os.sep in path for path in paths] == [False, True, True]


@contextmanager
def _noted_guards() -> Iterator[dict[str, None]]:
    """What torch supposes about sizes inside of the `with`, in its own symbols."""
    assumed: dict[str, None] = {}

    def note(_env: Any, _prefix: Any, guard: Any, *_args: Any, **_options: Any) -> None:
        assumed[str(guard)] = None

    with Patches() as patches:
        patches.observe(tp.LOG_GUARD, "package", before=note)
        yield assumed


def make_shareable(file: Path) -> bytes | Path:
    """A generated file as others may use it: sources without the folders of this machine."""
    if file.suffix == ".so":
        clear_executable_stack(file)  # which newer systems than this one refuse
    if file.suffix != ".cpp":
        return file
    code, _, _ = file.read_text().partition(_COMMANDS)
    return code.replace(f"{file.parent}{os.sep}", "").rstrip().encode() + b"\n"


# weights, buffers and constants


@contextmanager
def watched() -> Iterator[Library]:
    """Read the constants of the library that is compiled inside of the `with`."""
    library = Library()

    def make(inner: Callable[..., Any]) -> Callable[..., Any]:
        def compile_(
            cls: Any, graph: Any, wrapper: Any, kernel: Any, externs: Any, **rest: Any
        ) -> Any:
            library.constants = tuple(_constants(graph))
            library.values = {
                row.name: graph.get_original_value_of_constant(row.name)
                for row in library.constants
            }
            library.needs_proxy = bool(externs) or bool(graph.torchbind_constants)
            library.device = str(rest.get("device_type", "cpu"))
            library.seen = True
            return inner(cls, graph, wrapper, kernel, externs, **rest)

        return compile_

    with Patches() as patches:
        tp.AOT_CODE_COMPILER.get()
        patches.wrap(tp.AOT_CODE_COMPILER, make, "package")
        yield library


def _constants(graph: Any) -> Iterator[PackagedConstant]:
    """The constants in the order in which torch writes them, with their place in its blob."""
    offset = 0
    names = [name for name in graph.constants if name not in graph.folded_constants]
    on_gpu = all(graph.get_original_value_of_constant(name).is_cuda for name in names)
    for name in names:
        tensor = graph.get_original_value_of_constant(name)
        size = _bytes(tensor)
        allocated = graph.allocated_constant_name[name]
        start = tensor.storage_offset() * tensor.element_size() if size else 0
        yield PackagedConstant(
            name=name,
            fqn=str(graph.dynamo_flat_name_to_original_fqn.get(name, allocated)),
            mutated=name in graph.mutated_buffers,
            shape=tuple(int(n) for n in tensor.shape),
            stride=() if tensor.is_mkldnn else tuple(int(n) for n in tensor.stride()),
            dtype=str(tensor.dtype).removeprefix("torch."),
            size=size - start,
            offset=offset + start,
        )
        offset += size if on_gpu else -(-size // _ALIGNMENT) * _ALIGNMENT


def _bytes(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    if tensor.is_mkldnn:
        return int(tp.MKLDNN_BYTES.get()(tensor))
    return tensor.untyped_storage().nbytes()


def kept(
    library: Library,
    constants: tuple[PackagedConstant, ...],
    program: Any,
    member: str,
    *,
    is_all: bool = False,
) -> tuple[tuple[PackagedConstant, ...], bytes]:
    """Where weights come later: the constants that no state_dict holds get a place, and the bytes.

    Constants of the program and buffers that are not saved cannot be given by the caller. With
    `is_all` the weights have a place too.
    """
    content = bytearray()
    stored = []
    for constant in constants:
        if is_all or not program.state_dict.keys() & {constant.fqn, *constant.aliases}:
            content += bytes(-len(content) % _ALIGNMENT)
            data = _dense(constant, library.values[constant.name])
            constant = replace(constant, member=member, offset=len(content), size=len(data))
            content += data
        stored.append(constant)
    return tuple(stored), bytes(content)


def _dense(constant: PackagedConstant, tensor: torch.Tensor) -> bytes:
    """The bytes of a tensor in memory of its own, laid out as the library expects."""
    fresh = TensorLike(constant.shape, constant.stride, tensor.dtype).empty()
    fresh.copy_(tensor.detach())
    raw = torch.empty(0, dtype=torch.uint8).set_(fresh.untyped_storage())
    return raw.numpy().tobytes()


def list_constant_names(
    constants: tuple[PackagedConstant, ...], program: Any
) -> tuple[PackagedConstant, ...]:
    """The constants with their kind, and every name under which the module has the same tensor."""
    tensors = read_program_tensors(program)
    names: dict[Any, list[str]] = {}
    for name, tensor in tensors.items():
        names.setdefault(_identity(tensor), []).append(name)
    named = []
    for constant in constants:
        is_of_module = constant.fqn in tensors
        same = names[_identity(tensors[constant.fqn])] if is_of_module else []
        kind = "buffer" if constant.fqn in program.graph_signature.buffers else "parameter"
        if constant.fqn not in program.state_dict and kind != "buffer":
            kind = "constant"
        aliases = tuple(name for name in same if name != constant.fqn)
        named.append(replace(constant, kind=kind, aliases=aliases))
    return tuple(named)


def read_program_tensors(program: Any) -> dict[str, torch.Tensor]:
    """The weights and constants of an exported program by name."""
    constants = {k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}
    return {**program.state_dict, **constants}


def _identity(tensor: torch.Tensor) -> Any:
    """Equal for two names of one tensor."""
    if tensor.numel() == 0 or tensor.is_mkldnn:
        return id(tensor)
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def map_tensors_by_name(library: Library, program: Any) -> dict[str, torch.Tensor]:
    """The tensors of the program under the names of the library."""
    tensors = read_program_tensors(program)
    named = list_constant_names(library.constants, program)
    places = ((c.name, next((n for n in (c.fqn, *c.aliases) if n in tensors), None)) for c in named)
    return {name: tensors[place].detach() for name, place in places if place is not None}

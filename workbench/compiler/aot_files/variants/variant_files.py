"""Recorded variants as an `.aotv` file, and a file put under its function without compiling."""

from __future__ import annotations

import importlib
import io
import itertools
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch

import workbench.load_steps as load_steps
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import FRAMES, VARIANTS, OpenedFile, open_any
from workbench.artifacts.machine.machine_description import describe_current_machine
from workbench.artifacts.manifest.manifest import Manifest, SystemNeeds
from workbench.artifacts.preflight.preflight import check_fits, choose_build, read_system_needs
from workbench.artifacts.trust.trust import Trust, TrustStore, check_trust
from workbench.compiler.aot_files.deserialize import (
    BundleUnpickler,
    Libraries,
    ensure_writable_cache,
)
from workbench.compiler.aot_files.loaded_artifact import explained
from workbench.compiler.aot_files.variants.frame_sources import (
    find_changed_sources,
    find_inlined_sources,
)
from workbench.compiler.aot_files.variants.recorded_variants import Recorded, target_of
from workbench.compiler.aot_files.variants.registries import (
    Entries,
    list_missing_entries,
    read_entries,
)
from workbench.compiler.aot_files.writing.written_artifact import read_current_versions
from workbench.compiler.captured_code.inlined_code import InlinedCode
from workbench.compiler.captured_code.specialized_values import (
    SpecializedValues,
    find_globals_module,
    from_json,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import ArtifactError
from workbench.temporary import make_temporary_folder

_SOURCES, _REGISTRIES = "sources", "registries"
_NUMBER = re.compile(r"^__compiled_fn_(\d+)_|_(\d+)$")
_APART = 1000  # a frame without a graph takes a few numbers that no name in the file shows


@dataclass(frozen=True, eq=False)
class Installed:
    """A file whose code stands under its function."""

    name: str
    path: str
    digest: str
    manifest: Manifest
    package: Any
    fallen: tuple[CodeType, ...]
    inlined: InlinedCode

    def uninstall(self) -> None:
        """Take the code away again; the function is compiled as ever from then on."""
        installed = self.package._installed_globals
        for module, names in installed.items():
            installed[module] = [name for name in dict.fromkeys(names) if name in vars(module)]
        self.package.uninstall()
        for code in self.fallen:
            _set_strategy(code, "DEFAULT")


def write_variants(
    path: str | PathLike[str],
    recorded: Recorded,
    program: bytes | None = None,
    store: TrustStore | None = None,
) -> str:
    """Write one file atomically, signed as an artifact is, and return its digest.

    `program` is the record of how it was compiled, as `ProgramRecord.to_bytes` gives it. Raises
    `ArtifactError` for what cannot be read back: code, graphs, and the values that guards look at.
    """
    _require_readable(recorded)
    members: dict[str, aot_container.Content] = {aot_container.PAYLOAD: recorded.payload}
    if program is not None:
        members[aot_container.PROGRAM_RECORD] = program
    build = recorded.build
    for kernel in recorded.kernels if build else ():
        assert build is not None
        members[aot_container.name_kernel_member(build.name, kernel.key)] = kernel.library
    libraries = [kernel.library for kernel in recorded.kernels]
    manifest = Manifest(
        versions=read_current_versions(),
        needs=read_system_needs(libraries) if libraries else SystemNeeds(),
        device=recorded.device,
        builds=(build,) if build else (),
        contract={
            "name": recorded.name,
            FRAMES: [dict(row) for row in recorded.frames],
            _SOURCES: [dict(row) for row in recorded.sources],
            _REGISTRIES: [dict(row) for row in recorded.registries],
        },
        baked=tuple(dict(row) for row in recorded.specialized),
        guards={"policy": "portable", "dropped": [dict(row) for row in recorded.dropped]},
    )
    whole = aot_container.with_members(manifest, members)
    whole = (store or TrustStore.of_user()).sign_if_possible(whole)
    aot_container.write_artifact(path, whole, members)
    return whole.digest


def _require_readable(recorded: Recorded) -> None:
    """Read what is about to be written; nothing is put under a function, no library is started."""
    try:
        with _with_gradients():
            entry = _read(recorded.payload, Libraries({}, None, packed=True, started=False))
            for code in entry.dynamo.codes:
                for variant in code.guarded_codes:
                    pickle.loads(variant.guards_state)
    except Exception as error:  # unpickling raises whatever the stored objects raise
        words = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ArtifactError(
            f"{recorded.name} cannot be saved with its variants, because the written file cannot "
            f"be read back: {words}. Read this object outside the compiled parts, or pass its "
            "values as an argument."
        ) from error


def install_variants(
    path: str | PathLike[str],
    fn: Callable[..., Any],
    trust: Trust,
    opened: OpenedFile | None = None,
) -> Installed:
    """Check, verify and put a file's code under a function; nothing runs before it is trusted.

    Raises `ArtifactError` when the file is damaged, does not fit this machine or is of another
    function, or its source has changed; `TrustError` when nobody vouches for it.
    """
    name, target = os.fspath(path), target_of(fn)
    with open_any(path) if opened is None else nullcontext(opened) as opened:
        manifest = opened.manifest
        if manifest is None or opened.loadable is not VARIANTS:
            raise ArtifactError(f"{name} holds no variants. Open it with wb.load({name!r}).")
        check_fits(name, manifest, describe_current_machine())
        check_trust(
            name,
            opened.digest,
            trust=trust,
            store=TrustStore.of_user(),
            manifest=manifest,
        )
        if manifest.contract["name"] != target.__qualname__:
            raise ArtifactError(
                f"{name} holds the code of {manifest.contract['name']}, not of "
                f"{target.__qualname__}. Pass that function, or load the file that was saved for "
                "this one."
            )
        _require_same_sources(name, manifest)
        _require_entries(name, manifest)
        _require_same_values(name, manifest, target)
        load_steps.begin(load_steps.UNPACK)
        with make_temporary_folder() as folder:
            content, libraries = _unpacked(opened, manifest, folder)
            load_steps.begin(load_steps.REBUILD)
            with (
                ensure_writable_cache(folder / "cache"),
                explained(name, "record the function again with wb.variants"),
                _with_gradients(),
            ):
                entry = _read(content, libraries)
                package = tp.COMPILE_PACKAGE.get()(target, entry.dynamo)
                _require_free(name, package)
                _count_past(entry.dynamo)
                _put_under(name, package, entry.backends)
                fallen = _fallen(package, manifest.contract[FRAMES])
        for code in fallen:
            _set_strategy(code, "RUN_ONLY")
        inlined = find_inlined_sources(manifest.contract.get(_SOURCES, ()))
        return Installed(
            target.__qualname__, name, opened.digest, manifest, package, fallen, inlined
        )


def _require_same_values(path: str, manifest: Manifest, target: Any) -> None:
    """Raises `ArtifactError` where what the code assumes of modules or the environment differs.

    From then on torch's guards compare what modules have.
    """
    function = getattr(target, "__func__", target)
    values, owner = from_json(manifest.baked), find_globals_module(function)
    specialized = SpecializedValues.in_scopes(values, owner, function.__globals__)
    problems = specialized.mismatches({}, arguments=False)
    if problems:
        raise ArtifactError(
            f"{path} was recorded with different values of globals or environment variables:\n  - "
            + "\n  - ".join(problems)
            + "\nRestore them, or record it again with wb.variants."
        )


def _put_under(path: str, package: Any, graphs: Any) -> None:
    """Install; raises `ArtifactError` where a guard reads something that is not in this process."""
    try:
        package.install(graphs)
    except LookupError as error:
        raise ArtifactError(
            f"{path} cannot be loaded: one of its guards reads an entry that this process lacks, "
            f"{type(error).__name__} ({error}). Create the entry as the recording process did, or "
            "record again in a process that has only these entries."
        ) from error


def _unpacked(opened: OpenedFile, manifest: Manifest, folder: Path) -> tuple[bytes, Libraries]:
    artifact = opened.artifact
    assert artifact is not None
    build = choose_build(manifest.builds, describe_current_machine().cpu_flags)
    prefix = f"kernels/{build.name}/" if build else "no kernels"
    kernels = [member for member in manifest.members if member.startswith(prefix)]
    files = artifact.unpack(folder, [aot_container.PAYLOAD, *kernels])
    content = files.pop(aot_container.PAYLOAD).read_bytes()
    by_key: Mapping[str, Path] = {file.stem: file for file in files.values()}
    return content, Libraries(by_key, build, packed=True)


def _read(content: bytes, libraries: Libraries) -> Any:
    """Torch's entry, whose graphs start the packed libraries instead of a compiler."""
    entry = BundleUnpickler(io.BytesIO(content)).load()
    for artifact in entry.backends.values():
        graph = artifact.content
        parts: tuple[Any, ...] = (graph.compiled_fw, getattr(graph, "compiled_bw", None))
        for part in parts:
            if getattr(getattr(part, "result", None), "source_code", None):
                part.post_compile = libraries.starter(part)
        graph.__deepcopy__ = lambda _memo: None  # torch's copy for saving again, never asked for
    return entry


def _fallen(package: Any, rows: Sequence[Mapping[str, Any]]) -> tuple[CodeType, ...]:
    """Frames that torch gave up: what none of their variants fits runs eagerly, as it did there."""
    entries = zip(package._codes.items(), rows, strict=True)
    return tuple(
        tp.CODE_OF_ENTRY.get()(entry) if entry.code_source else code
        for (code, entry), row in entries
        if row.get("falls_back") and entry.guarded_codes
    )


def _set_strategy(code: CodeType, action: str) -> None:
    actions = tp.FRAME_ACTION.get()
    strategy = tp.EXEC_STRATEGY.get()(getattr(actions, action), actions.DEFAULT)
    tp.SET_EXEC_STRATEGY.get()(code, strategy)


def _require_same_sources(path: str, manifest: Manifest) -> None:
    """Raise `ArtifactError` where code that was compiled in says something else here."""
    changed = find_changed_sources(manifest.contract.get(_SOURCES, ()))
    if changed:
        raise ArtifactError(
            f"{path} was compiled from a different source of {', '.join(changed)}. Restore that "
            "source, or record the function again with wb.variants."
        )


def _require_entries(path: str, manifest: Manifest) -> None:
    """Raise `ArtifactError` where a library has not noted down what compiled code reads of it."""
    missing = list_missing_entries(manifest.contract.get(_REGISTRIES, ()))
    if missing:
        raise ArtifactError(
            f"{path} cannot be loaded: its code reads {', '.join(missing)}, which is not in this "
            "process. Libraries register an object when its class is called, not when it is "
            "unpickled. Create the object before loading the file."
        )


def read_noted(manifest: Manifest) -> tuple[Entries, ...]:
    """What libraries have noted down here of what a file's code reads, to be taken along."""
    return read_entries(manifest.contract.get(_REGISTRIES, ()))


@contextmanager
def _with_gradients() -> Iterator[None]:
    """Read guards of parameters that had a gradient, for which torch writes what it cannot read."""
    inner = tp.UNPICKLE_GUARDED_TENSOR.get()

    def unpickled(_cls: type, *arguments: Any) -> Any:
        *first, grad = arguments
        return inner(*first, grad if isinstance(grad, torch.Tensor) else None)

    with ProcessPatches() as patches:
        patches.name(tp.UNPICKLE_GUARDED_TENSOR, classmethod(unpickled))
        yield


def _require_free(path: str, package: Any) -> None:
    """Raise `ArtifactError` where other code has the names of the resume functions."""
    for code, entry in package._codes.items():
        space = vars(importlib.import_module(entry.python_module))
        for name in entry.function_names if entry.install_to_global else ():
            if name in space and not _is_same(space[name], code):
                raise ArtifactError(
                    f"{path} cannot be loaded: {entry.python_module} already has different "
                    f"compiled code named {name}. Load the file before compiling or loading "
                    "anything from that module."
                )


def _is_same(value: Any, code: CodeType) -> bool:
    return isinstance(value, FunctionType) and value.__code__ == code


def _count_past(dynamo: Any) -> None:
    """Let torch number what it compiles later beyond the names of the file."""
    texts = [name for code in dynamo.codes for name in (*code.function_names, *code.backend_ids)]
    matches = filter(None, map(_NUMBER.search, texts))
    numbers = [int(match[1] or match[2]) for match in matches]
    module = importlib.import_module(tp.UNIQUE_NAMES.module)
    now = next(tp.UNIQUE_NAMES.get())
    setattr(module, tp.UNIQUE_NAMES.attribute, itertools.count(max([now, *numbers]) + _APART))

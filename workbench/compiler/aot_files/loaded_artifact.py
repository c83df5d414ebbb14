"""A file on disk made into something callable: checked, trusted, verified, then deserialized."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench.load_steps as load_steps
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import OpenedFile, find_pickle_start, open_any
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Build, Manifest
from workbench.artifacts.preflight.preflight import check_fits, choose_build
from workbench.artifacts.trust.trust import Trust, TrustStore, check_trust
from workbench.compiler.aot_files.deserialize import (
    Libraries,
    deserialize,
    ensure_writable_cache,
    place_classes_in_main,
)
from workbench.compiler.aot_files.generated import PackedKernels
from workbench.compiler.aot_files.stored_weights import Weights
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.failed_compilation import hold_logs
from workbench.compiler.internals.torch_state import restore_autocast
from workbench.errors import ArtifactError, WorkbenchError, describe_error
from workbench.temporary import make_temporary_folder

if TYPE_CHECKING:
    from workbench.report import Report


@dataclass(frozen=True)
class LoadedArtifact:
    """What a file gave.

    `manifest` and `record`, the bytes of the report, are None for a file of torch's own; `module`
    is the one that was handed in (filled when it was on the meta device) or that from the file.
    """

    callable: Any
    digest: str
    manifest: Manifest | None = None
    record: bytes | None = None
    module: Any | None = None

    @cached_property
    def report(self) -> Report | None:
        """The report of the compilation, read at the first look: most programs only call."""
        from workbench.report import Report

        return None if self.record is None else Report.from_bytes(self.record)


@dataclass(frozen=True)
class _Request:
    """What the caller of load gave."""

    path: str
    module: Any | None
    external_data: Mapping[str, Any]
    f_globals: Mapping[str, Any]


def load_artifact(
    path: str | PathLike[str],
    *,
    module: Any | None = None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    trust: Trust = False,
    verify_weights: bool = False,
    store: TrustStore | None = None,
    machine: Machine | None = None,
    opened: OpenedFile | None = None,
) -> LoadedArtifact:
    """Check, verify and deserialize a file; nothing of it runs before it is trusted.

    Also reads what torch's `save_compiled_function` wrote, under the same rule. Code is always
    compared with its hash, weights with `verify_weights=True`. `machine` is the one that the file
    has to fit: this one unless given. `opened` is the file where it is open already.

    Raises `ArtifactError` when the file is damaged or does not fit this machine, `TrustError`
    when nobody vouches for it.
    """
    request = _Request(os.fspath(path), module, dict(external_data or {}), dict(f_globals or {}))
    load_steps.begin(load_steps.READ)
    machine = machine or describe_current_machine()
    with open_any(path) if opened is None else nullcontext(opened) as opened:
        opened.require_function(request.path)
        if opened.manifest is not None:
            check_fits(request.path, opened.manifest, machine)
        check_trust(
            request.path,
            opened.digest,
            trust=trust,
            store=store or TrustStore.of_user(),
            manifest=opened.manifest,
        )
        with make_temporary_folder() as folder:
            if opened.manifest is None:
                with ensure_writable_cache(folder / "cache"):
                    return _load_torch_file(opened, request)
            load_steps.begin(load_steps.UNPACK)
            build = choose_build(opened.manifest.builds, machine.cpu_flags)
            files = _unpack(opened, opened.manifest, folder, build, verify_weights)
            with ensure_writable_cache(folder / "cache"):  # not for a file that is refused
                return _load(opened, opened.manifest, request, build, files)


def _unpack(
    opened: OpenedFile,
    manifest: Manifest,
    folder: Path,
    build: Build | None,
    verify_weights: bool,
) -> dict[str, Path]:
    """The members that are needed here, as files in the private folder."""
    artifact = opened.artifact
    if artifact is None:
        return {}
    kernels = f"kernels/{build.name}/" if build else "no kernels"
    needed = [n for n in manifest.members if not n.startswith("kernels/") or n.startswith(kernels)]
    code = [name for name in needed if name != aot_container.WEIGHTS]
    weights = [name for name in needed if name == aot_container.WEIGHTS]
    return {
        **artifact.unpack(folder, code),
        **artifact.unpack(folder, weights, verify=verify_weights),
    }


def _load(
    opened: OpenedFile,
    manifest: Manifest,
    request: _Request,
    build: Build | None,
    files: Mapping[str, Path],
) -> LoadedArtifact:
    load_steps.begin(load_steps.REBUILD)
    with explained(request.path):
        imported = {n: resolve(p) for n, p in manifest.contract.get("imports", {}).items()}
    external_data = {**imported, **request.external_data}
    scope = _scope(manifest, request)
    _require_handed_over(manifest, request.path, external_data, scope)
    kernels = {file.stem: file for name, file in files.items() if name.startswith("kernels/")}
    module, classes = _module(manifest, files, request)
    # another build of torch may have packed the GPU kernels
    gpu = PackedKernels(manifest.built_for) if manifest.built_for else None
    state = manifest.contract.get("state")
    with (
        explained(request.path),
        place_classes_in_main(module, request.f_globals, classes),
        nullcontext() if state is None else restore_autocast(state),
    ):
        function = deserialize(
            files[aot_container.PAYLOAD].read_bytes(),
            Libraries(kernels, build, packed=True, gpu=gpu),
            aliases=manifest.aliases,
            external_data=external_data,
            f_globals=scope,
        )
    report = files.get(aot_container.REPORT)
    return LoadedArtifact(
        callable=function,
        digest=opened.digest,
        manifest=manifest,
        record=report.read_bytes() if report else None,
        module=module,
    )


def _scope(manifest: Manifest, request: _Request) -> Mapping[str, Any]:
    """The caller's globals; where they lack a name, that of the function's own module."""
    module = sys.modules.get(manifest.contract.get("function_module", ""))
    own = vars(module) if module else {}
    return {**{n: own[n] for n in manifest.missing_names if n in own}, **request.f_globals}


def _require_handed_over(
    manifest: Manifest, path: str, external_data: Mapping[str, Any], scope: Mapping[str, Any]
) -> None:
    """Raise `ArtifactError` for what is not in the file and cannot be found here."""
    it = ("them", "it")
    missing = [name for name in manifest.external_data if name not in external_data]
    if missing:
        raise ArtifactError(
            f"{path} was saved without {', '.join(missing)}. Pass {it[len(missing) == 1]} with "
            f"load(path, external_data={{{missing[0]!r}: …}})."
        )
    unknown = [name for name in manifest.missing_names if name not in scope]
    if unknown:
        raise ArtifactError(
            f"{path} reads {', '.join(unknown)} from globals that do not exist in this process. "
            f"Pass {it[len(unknown) == 1]} with load(path, f_globals={{{unknown[0]!r}: …}})."
        )


def _module(
    manifest: Manifest, files: Mapping[str, Path], request: _Request
) -> tuple[Any | None, list[type]]:
    """The module to call the function on: the caller's, filled if it is empty, or the bundled.

    With the classes that came with a bundled one.
    """
    module = request.module
    empty = module is not None and _on_meta(module)
    if manifest.weights is None:
        if empty:
            raise ArtifactError(
                f"The module is on the meta device and {request.path} holds no weights. Load the "
                "module's weights first, or save with weights='inside'."
            )
        return module, []
    if module is not None and not empty:
        return module, []
    weights = Weights(files[aot_container.WEIGHTS], manifest.weights)
    if module is not None:
        weights.fill(module)
        return module, []
    with explained(request.path):
        return weights.module(files[aot_container.SKELETON].read_bytes())


def _on_meta(module: Any) -> bool:
    if not hasattr(module, "parameters") or not hasattr(module, "buffers"):
        return False
    return any(tensor.is_meta for tensor in (*module.parameters(), *module.buffers()))


def _load_torch_file(opened: OpenedFile, request: _Request) -> LoadedArtifact:
    content = opened.whole()
    has_header = find_pickle_start(content) > 0
    if has_header != (tp.AOT_OPEN_PAYLOAD.find() is not None):
        newer, older = ("newer", "older") if has_header else ("older", "newer")
        raise ArtifactError(
            f"{request.path} was written by a {newer} torch release, in a format that this {older} "
            "release cannot read. Save it again with this release."
        )
    with explained(request.path), place_classes_in_main(request.module, request.f_globals):
        function = deserialize(
            content,
            Libraries({}, None, packed=False),
            external_data=request.external_data,
            f_globals=request.f_globals,
            check_release=True,
        )
    return LoadedArtifact(function, opened.digest, module=request.module)


@contextmanager
def explained(path: str, again: str | None = None) -> Iterator[None]:
    """Turn what unpickling and torch raise into an error that says what to do.

    `again` is how such a file is made anew, `wb.recompile` unless it is given.
    """
    try:
        with hold_logs():
            yield
    except WorkbenchError:
        raise
    except Exception as error:  # unpickling raises whatever the stored objects raise
        again = again or f"recompile it with wb.recompile({path!r}, module=model)"
        if missing := _missing(error):
            raise ArtifactError(
                f"{path} needs {missing} before loading. Otherwise {again}."
            ) from error
        raise ArtifactError(
            f"{path} could not be loaded: {describe_error(error)}\nRestore or install the code "
            f"that it refers to, or {again}."
        ) from error


_NOT_THERE = (
    (
        re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"),
        re.compile(r"Can't resolve path '(?P<name>[\w.<>]+)' on module '(?P<module>[\w.]+)'"),
    )
    if sys.version_info >= (3, 14)
    else (re.compile(r"Can't get attribute '(?P<name>[\w.<>]+)' on <module '(?P<module>[\w.]+)'"),)
)
"""How unpickling says that a module lacks what a file refers to."""
_NOT_IN_CLASS = re.compile(r"type object '(?P<kind>\w+)' has no attribute '(?P<name>\w+)'")


def _missing(error: Exception) -> str | None:
    """What unpickling did not find and what to do, None for every other error."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the module {error.name}, which cannot be imported here. Install it"
    if not isinstance(error, AttributeError):
        return None
    if late := _NOT_IN_CLASS.fullmatch(str(error)):
        kind, name = late["kind"], late["name"]
        now = f"Call the function once in eager, or set {kind}.{name},"
        return f"{name}, which {kind} does not have yet. {now}"
    searched = (pattern.search(str(error)) for pattern in _NOT_THERE)
    match = next(filter(None, searched), None)
    if match is None:
        return None
    module = match["module"]
    where = "this program (__main__)" if module.endswith("__main__") else f"the module {module}"
    return f"{match['name']}, which {where} does not have. Define or import it there"

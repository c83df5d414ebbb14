"""Looking inside a file without executing anything from it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

from workbench.artifacts.container import MANIFEST, PAYLOAD, SKELETON
from workbench.artifacts.manifest import Manifest
from workbench.artifacts.opcodes import PickleFacts, read_pickle
from workbench.artifacts.opening import OpenedFile, open_any, pickle_start
from workbench.artifacts.trust import TrustStore

_SHOWN = 8
_USUAL_PACKAGES = ("torch", "sympy", "numpy", "triton")
_USUAL_NAMES = frozenset(
    ("builtins:getattr", "builtins:list", "builtins:dict", "builtins:set", "builtins:frozenset",
     "builtins:tuple", "builtins:type", "builtins:object", "builtins:slice", "builtins:range",
     "builtins:int", "builtins:float", "builtins:bool", "builtins:str", "builtins:bytes",
     "collections:Counter", "collections:OrderedDict", "collections:defaultdict",
     "functools:partial", "inspect:Parameter", "inspect:Signature", "inspect:_ParameterKind",
     "inspect:_empty", "traceback:FrameSummary", "traceback:StackSummary")
)  # fmt: skip


@dataclass(frozen=True)
class MemberFacts:
    """One member of the file; `sha256` is what the manifest gives, `damaged` what was found."""

    name: str
    size: int
    sha256: str
    damaged: bool = False


@dataclass(frozen=True)
class ArtifactReport:
    """What a file is, learnt without executing it.

    `digest` is what `trust=` takes. `imports` are the names that loading would import and could
    call. `signature` says who vouches for it on this account.
    """

    path: str
    kind: str
    digest: str
    signature: str
    size: int
    manifest: Manifest | None
    members: tuple[MemberFacts, ...]
    pickles: tuple[tuple[str, PickleFacts], ...]

    @property
    def imports(self) -> tuple[str, ...]:
        """Every name that loading imports, from all pickles, as `module:name`."""
        return tuple(sorted({name for _, facts in self.pickles for name in facts.all_globals()}))

    @property
    def unusual(self) -> tuple[str, ...]:
        """The imports from outside torch and its usual companions: look at these first."""
        return tuple(
            name
            for name in self.imports
            if name not in _USUAL_NAMES and re.split("[.:]", name)[0] not in _USUAL_PACKAGES
        )

    def __repr__(self) -> str:
        """A short stable summary."""
        name = os.path.basename(self.path)
        damaged = [member.name for member in self.members if member.damaged]
        lines = [
            f"ArtifactReport({name}: {self.kind}, {self.size} bytes, {self.signature})",
            f"  digest   {self.digest}",
        ]
        if self.manifest is not None:
            made = self.manifest.versions
            lines += [
                f"  made by  python {made.python}, torch {made.torch}",
                f"  target   {self.manifest.target}, kernels {_kernels(self.manifest)}",
                *_built_for(self.manifest),
                f"  members  {len(self.members)}",
            ]
        lines.append(
            f"  imports  {len(self.imports)} names, {len(self.unusual)} beyond torch's own"
        )
        lines += [f"    {name}" for name in self.unusual[:_SHOWN]]
        if len(self.unusual) > _SHOWN:
            lines.append(f"    … and {len(self.unusual) - _SHOWN} more: see .unusual")
        lines += [f"  DAMAGED  {name}" for name in damaged]
        return "\n".join(lines)


def _kernels(manifest: Manifest) -> str:
    builds = [build.name for build in manifest.builds]
    target = manifest.built_for
    if target is not None and target.kernels:
        names = {kernel.name for kernel in target.kernels}
        builds.append(f"{len(names)} for the GPU in {len(target.kernels)} configurations")
    return ", ".join(builds) or "none"


def _built_for(manifest: Manifest) -> Iterator[str]:
    """For which GPU and which releases the code was compiled, where that was elsewhere."""
    target = manifest.built_for
    if target is None:
        return
    build = "" if "+" in target.torch else ", any build"
    toolkit = "ROCm" if target.is_amd else "CUDA"
    yield f"  runs on  {target.title}"
    yield (
        f"  needs    torch {target.torch}{build}, triton {target.triton}, "
        f"{f'{toolkit} {target.toolkit}' if target.toolkit else f'any {toolkit}'}"
    )


def inspect(path: str | PathLike[str], *, store: TrustStore | None = None) -> ArtifactReport:
    """Look inside a file; nothing from it is executed.

    Raises `ArtifactError` when it is no artifact or its frame is damaged; a damaged member is
    marked in the result.
    """
    with open_any(path) as opened:
        return ArtifactReport(
            path=os.fspath(path),
            kind=opened.kind,
            digest=opened.digest,
            signature=(store or TrustStore.of_user()).standing(opened.digest, opened.manifest),
            size=opened.size,
            manifest=opened.manifest,
            members=_members(opened),
            pickles=tuple(_pickles(opened)),
        )


def _members(opened: OpenedFile) -> tuple[MemberFacts, ...]:
    artifact = opened.artifact
    if artifact is None:
        return ()
    first = MemberFacts(MANIFEST, artifact.entries[MANIFEST].file_size, opened.digest[7:])
    rest = [
        MemberFacts(name, member.size, member.sha256, not artifact.is_whole(name))
        for name, member in artifact.manifest.members.items()
    ]
    return (first, *rest)


def _pickles(opened: OpenedFile) -> list[tuple[str, PickleFacts]]:
    artifact = opened.artifact
    if artifact is None:
        contents = {"file": opened.whole()}
    else:
        names = [name for name in (PAYLOAD, SKELETON) if name in artifact.manifest.members]
        contents = {name: artifact.raw(name) for name in names}
    return [(name, read_pickle(c[pickle_start(c) :])) for name, c in contents.items()]

"""Packages for tests: a whole `.pt2` without compiling anything."""

from __future__ import annotations

import _ctypes
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Build, SystemNeeds, Versions
from workbench.artifacts.manifest.package_manifest import (
    PackagedConstant,
    PackagedModel,
    PackagedOutput,
    PackageManifest,
)
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.packaging.writing import FIXED, Content, with_members, write_archive

CODE = "data/aotinductor/model"
LIBRARY, SOURCE, BLOB = f"{CODE}/m.wrapper.so", f"{CODE}/m.wrapper.cpp", f"{CODE}/m_weights.blob"
METADATA = f"{CODE}/m.wrapper_metadata.json"
SHARED_LIBRARY = Path(_ctypes.__file__)  # any ELF file that is always here
LINKED = Path(__file__).parents[1] / "records" / "v0_1_0" / "block.pt2"
"""A package with weights, linked by binutils 2.40."""
CONTRACT: Mapping[str, Any] = {
    "leaves": [
        {
            "path": ["x"],
            "kind": "tensor",
            "type": "Tensor",
            "dtype": "float32",
            "device": "cpu",
            "shape": [{"name": "batch", "min": 2, "max": 512, "scale": 1, "offset": 0}, 64],
            "sizes": [8, 64],
            "stride": [64, 1],
        }
    ],
    "receiver": None,
    "training": None,
    "guards": ["batch % 2 == 0"],
}


def weight(size: int = 256, member: str | None = BLOB) -> PackagedConstant:
    """One parameter of `size` bytes at the start of the blob."""
    return PackagedConstant("l_weight", "l.weight", (size // 4,), (1,), "float32", size, member)


def model(**changes: Any) -> PackagedModel:
    """One model for a CPU with a weight beside its library."""
    made = PackagedModel(
        name="model",
        device="cpu",
        folder=CODE,
        library=LIBRARY,
        contract=CONTRACT,
        parameters=(["x", 1, None],),
        inputs=("x",),
        outputs=(PackagedOutput("float32", ("batch", 8)),),
        in_spec="",
        out_spec="",
        constants=(weight(),),
        weights="beside",
        isa=Build("here", "avx2", ()),
    )
    return replace(made, **changes)


def parts(**others: Content) -> dict[str, Content]:
    """The members of a whole package; `others` by the names library, blob and source."""
    facts = {"AOTI_CPU_ISA": "AVX2", "AOTI_DEVICE_KEY": "cpu", "AOTI_MACHINE": "x86_64"}
    return {
        **FIXED,
        LIBRARY: others.get("library", SHARED_LIBRARY),
        SOURCE: others.get("source", b'#include <torch.h>\nextern "C" int kernel();\n'),
        METADATA: json.dumps(facts).encode(),
        BLOB: others.get("blob", bytes(256)),
    }


def manifest(
    *models: PackagedModel, here: Machine | None = None, **changes: Any
) -> PackageManifest:
    """A manifest that fits this machine."""
    here = here or describe_current_machine()
    versions = Versions(here.python, here.magic, here.torch, here.triton, "0.1.0")
    needs = SystemNeeds(here.system, here.machine, {"GLIBC": "2.14"}, ("libc.so.6",))
    made = PackageManifest("m", models or (model(),), versions, needs)
    return replace(made, **changes)


def write_package(
    path: Path,
    *models: PackagedModel,
    members: Mapping[str, Content] | None = None,
    store: TrustStore | None = None,
    **changes: Any,
) -> PackageManifest:
    """A package on disk; `changes` are fields of its manifest."""
    content = dict(members or parts())
    made = with_members(manifest(*models, **changes), content)
    made = store.sign(made) if store else made
    write_archive(path, made, content)
    return made


def library_with_weights(folder: Path) -> Path:
    """A library that asks for an executable stack, as an older linker made it."""
    with zipfile.ZipFile(LINKED) as package:
        (name,) = (name for name in package.namelist() if name.endswith(".so"))
        return Path(package.extract(name, folder))

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import loading_samples
import pytest
import sample_report
import torch

import workbench as wb
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.archive.package_container import encode_report
from workbench.artifacts.manifest.manifest import Build
from workbench.artifacts.manifest.package_manifest import (
    PackagedConstant,
    PackagedModel,
    PackagedOutput,
    PackageManifest,
)
from workbench.artifacts.preflight.preflight import read_system_needs
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.aot_files.writing.written_artifact import (
    read_current_versions,
    save_artifact,
)
from workbench.compiler.packaging.writing import FIXED, Content, with_members, write_archive

FOLDER = "data/aotinductor/model"


class Small(torch.nn.Module):
    """What the packages hold."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x).relu()


def write_artifacts(folder: Path) -> dict[str, str]:
    """A compiled function as we save it and as torch does, and an exported program."""
    aot_fn = loading_samples.compiled(loading_samples.scaled, loading_samples.inputs())
    aot_fn.save_compiled_function(str(folder / "torch.bin"))
    store = TrustStore(folder / "data")
    save_artifact(
        folder / "model.aot",
        aot_fn=aot_fn,
        contract_json={"inputs": []},
        report=sample_report.make(),
        store=store,
    )
    program = torch.export.export(Small().eval(), (torch.ones(2, 4),))
    torch.export.save(program, folder / "exported.pt2")
    return {
        "artifact": str(folder / "model.aot"),
        "torch artifact": str(folder / "torch.bin"),
        "exported program": str(folder / "exported.pt2"),
    }


def write_like_package(path: Path, library: bytes, store: TrustStore) -> None:
    """A package of the right form around a library that cannot run it: nothing gets so far."""
    tensor = {"kind": "tensor", "device": "cpu", "dtype": "float32", "type": "Tensor", "value": ""}
    sizes = {"shape": [2, 4], "sizes": [2, 4], "stride": [4, 1]}
    leaf = {**tensor, **sizes, "path": ["x"], "requires_grad": False, "inference": False}
    weight = PackagedConstant("w", "inner.w", (4, 4), (4, 1), "float32", 64, f"{FOLDER}/w.blob", 64)
    model = PackagedModel(
        name="model",
        device="cpu",
        folder=FOLDER,
        library=f"{FOLDER}/a.wrapper.so",
        contract={"guards": [], "leaves": [leaf], "receiver": None, "training": None},
        parameters=(["x", 1, None],),
        inputs=("x",),
        outputs=(PackagedOutput("float32", (2, 4)),),
        in_spec="[1, {}]",
        out_spec="[1, {}]",
        constants=(weight,),
        weights="beside",
        report="extra/workbench/model.wbr.b64",
        isa=Build("avx2-native", "avx2", ("avx2",)),
    )
    members: dict[str, Content] = {
        **FIXED,
        f"{FOLDER}/a.wrapper.so": library,
        f"{FOLDER}/a.wrapper.cpp": b"int main() {}\n" * 50,
        f"{FOLDER}/a.wrapper_metadata.json": b'{"AOTI_DEVICE_KEY": "cpu"}',
        f"{FOLDER}/w.blob": bytes(range(256)),
        "extra/workbench/model.wbr.b64": encode_report(sample_report.make().to_bytes()),
    }
    manifest = PackageManifest(
        "model", (model,), versions=read_current_versions(), needs=read_system_needs([library])
    )
    write_archive(path, store.sign(with_members(manifest, members)), members)


def without_manifest(package: Path) -> bytes:
    """A package as torch itself would have written it."""
    to = io.BytesIO()
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(to, "w") as new:
        for info in old.infolist():
            if "/extra/workbench/" not in info.filename:
                new.writestr(info, old.read(info))
    return to.getvalue()


def with_torch_package(folder: Path) -> dict[str, str]:
    (folder / "torch.pt2").write_bytes(without_manifest(folder / "model.pt2"))
    return {"package": str(folder / "model.pt2"), "torch package": str(folder / "torch.pt2")}


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files without compiled packages; ours are signed by the user of `data` beside them."""
    return write_artifacts(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="session")
def samples(artifacts: dict[str, str]) -> dict[str, str]:
    """A whole file of every kind; the packages hold a kernel where their library would be."""
    folder = Path(artifacts["artifact"]).parent
    with open_any(artifacts["artifact"]) as opened:
        assert opened.artifact is not None
        kernel = next(name for name in opened.artifact.entries if name.endswith(".so"))
        library = opened.artifact.raw(kernel)
    write_like_package(folder / "model.pt2", library, TrustStore(folder / "data"))
    return {**artifacts, **with_torch_package(folder)}


@pytest.fixture(scope="session")
def compiled_samples(
    artifacts: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """A whole file of every kind, all of them compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AOT_WORKBENCH_DATA", str(Path(artifacts["artifact"]).parent / "data"))
        wb.package(Small().eval(), (torch.ones(2, 4),), path=folder / "model.pt2")
    return {**artifacts, **with_torch_package(folder)}

"""The files of a model in its package: found in one that torch wrote, copied out meanwhile.

Nothing here imports torch: copies are made while the caller imports it.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from weakref import finalize

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.errors import ArtifactError
from workbench.plain_data import parse_json
from workbench.temporary import make_folder

_NOT_RUN = (".cpp", ".blob", ".constants", ".h", ".o")  # sources and weights
_FOLDER = PurePosixPath("data/aotinductor")
_METADATA = "_metadata.json"
_METADATA_LIMIT = 1 << 20
NO_CONTRACT = (
    "was written by torch itself, without an input contract: only the number and nesting of inputs "
    "are checked. Wrong shapes or dtypes can give wrong results. Use wb.package for files that are "
    "checked."
)


CLOSED = "The package was closed: load it again with wb.load(path)."


class Unpacking:
    """Verified copies of what one model executes, in a folder that only this user can enter.

    Copying and hashing leave Python to others. The file must not be read until `library` returns.
    The folder goes with this object.
    """

    def __init__(self, package: OpenedPackage, model: PackagedModel) -> None:
        others = [
            name
            for name in package.entries
            if name.startswith(f"{model.folder}/")
            and not name.endswith(_NOT_RUN)
            and name != model.library
        ]
        folder = make_folder("aot-workbench-")
        self.model = model
        self._removal = finalize(self, shutil.rmtree, folder, True)
        self._thread = ThreadPoolExecutor(1)
        self._copies = self._thread.submit(package.unpack, folder, [model.library, *others])

    def library(self) -> Path:
        """Where the library is, when it is whole; raises `ArtifactError` for a damaged one."""
        copies = self._copies.result()
        self._thread.shutdown()
        return copies[self.model.library]

    def remove(self) -> None:
        """Remove the copies, also while they are made."""
        self._thread.shutdown()
        self._removal()


def manifest_of(package: OpenedPackage) -> PackageManifest:
    """A manifest with what can be known before the library is opened; it has no contract.

    Raises `ArtifactError` for what cannot be driven from here.
    """
    folders = sorted(
        {
            path.parts[2]
            for path in map(PurePosixPath, package.entries)
            if path.is_relative_to(_FOLDER) and len(path.parts) > 3
        }
    )
    if not folders:
        raise ArtifactError("The .pt2 file holds no compiled model: torch.export.load opens it.")
    return PackageManifest(package.root, tuple(_model(package, name) for name in folders))


def _model(package: OpenedPackage, name: str) -> PackagedModel:
    folder = str(_FOLDER / name)
    files = [member for member in package.entries if member.startswith(f"{folder}/")]
    libraries = [member for member in files if member.endswith(".so")]
    if len(libraries) != 1:
        raise ArtifactError(
            f"The package holds {len(libraries)} libraries for the model {name} instead of one. "
            "torch's own loader may open it."
        )
    stem = libraries[0].removesuffix(".so")
    if any(member.endswith("_weights.blob") for member in files):
        raise ArtifactError(
            f"torch wrote the weights of {name} next to its library, without recording their "
            "positions. Write it with wb.package(…, weights='beside')."
        )
    return PackagedModel(
        name=name,
        device=_device(package, files),
        folder=folder,
        library=libraries[0],
        contract={},
        parameters=(),
        inputs=(),
        outputs=(),
        in_spec="",
        out_spec="",
        needs_proxy=f"{stem}.json" in package.entries,
    )


def _device(package: OpenedPackage, files: list[str]) -> str:
    for member in files:
        if member.endswith(_METADATA) and package.size(member) <= _METADATA_LIMIT:
            try:
                metadata = parse_json(package.raw(member))
            except ValueError:
                continue
            if isinstance(metadata, dict) and "AOTI_DEVICE_KEY" in metadata:
                return str(metadata["AOTI_DEVICE_KEY"])
    return "cpu"

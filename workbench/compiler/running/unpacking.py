"""The library of a model, copied out of its package while the caller does something else."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from weakref import finalize

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackagedModel

_NOT_RUN = (".cpp", ".blob", ".constants", ".h", ".o")  # sources and weights


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
        folder = Path(tempfile.mkdtemp(prefix="aot-workbench-"))
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

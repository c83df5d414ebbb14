"""What a record says of the process that made it."""

from __future__ import annotations

from importlib import metadata

import pytest

import workbench as wb
from workbench.compiler.aot_files.written_artifact import read_current_versions
from workbench.compiler.recording.environment import environment


def test_a_checkout_that_is_not_installed_has_its_version_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_none(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", find_none)
    assert environment().workbench == wb.__version__
    assert read_current_versions().workbench == wb.__version__

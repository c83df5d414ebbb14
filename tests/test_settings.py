from pathlib import Path

import pytest

from workbench.settings import Settings, read_triton_switches


def test_folders_follow_the_desktop_convention():
    settings = Settings.from_environment({"HOME": "/home/ann"})
    assert settings.cache_folder == Path("/home/ann/.cache/aot-workbench")
    assert settings.data_folder == Path("/home/ann/.local/share/aot-workbench")
    assert settings.inductor_cache is None
    assert settings.policy_file is None


def test_each_folder_can_be_chosen():
    settings = Settings.from_environment(
        {"XDG_CACHE_HOME": "/c", "AOT_WORKBENCH_DATA": "/keys", "TORCHINDUCTOR_CACHE_DIR": "/k"}
    )
    assert settings.cache_folder == Path("/c/aot-workbench")
    assert settings.data_folder == Path("/keys")
    assert settings.inductor_cache == "/k"


def test_a_policy_may_lie_elsewhere():
    settings = Settings.from_environment({"AOT_WORKBENCH_POLICY": "/team/policy.toml"})
    assert settings.policy_file == Path("/team/policy.toml")


def test_switches_of_triton_are_what_changes_code(monkeypatch: pytest.MonkeyPatch):
    before = read_triton_switches()
    for name in ("DISABLE_LLVM_OPT", "TRITON_INTERPRET", "TRITON_CACHE_DIR", "TRITON_PTXAS_PATH"):
        monkeypatch.setenv(name, "1")
    assert {*read_triton_switches()} - {*before} == {"DISABLE_LLVM_OPT=1"}

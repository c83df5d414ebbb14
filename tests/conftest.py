from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sample_report as sample

from tests.older_releases import RELEASE
from workbench.compiler.internals import torch_private as tp
from workbench.report import Report

if TYPE_CHECKING:
    from workbench.compiler.virtual_gpu.client import CrossCompiler


# a package's wrapper is only compiled faster: its kernels are optimised as always
os.environ.setdefault("AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL", "O0")
# g++ takes mold where it is installed, for libraries that differ in nothing but their layout
if Path("/usr/libexec/mold/ld").exists():
    os.environ.setdefault("COMPILER_PATH", "/usr/libexec/mold")
pytest_plugins = (
    "crashes",
    "groups",
    "installed_worlds",
    "parts",
    "sample_packages",
    "shells",
    "skips",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Import all tests without looking for garbage, which took a fifth of it (1 M objects)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture
def sample_report() -> Report:
    return sample.make()


@pytest.fixture(scope="session", autouse=True)
def torchs_own_files() -> None:
    """torch 2.11 saves what it compiled ahead of time only where this is set."""
    if RELEASE < (2, 12):
        tp.DYNAMO_CONFIG.get().enable_aot_compile = True


@pytest.fixture(scope="session")
def worker() -> Iterator[CrossCompiler]:
    """One warm worker for all tests that compile for a virtual GPU."""
    from workbench.compiler.virtual_gpu.client import CrossCompiler

    worker = CrossCompiler(start_s=120, job_s=300)
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The one Chromium of a process: Playwright 1.65 starts none while it runs."""
    pytest.importorskip("playwright.sync_api")
    from tests.browser.driving import NoChromium, running_chromium

    try:
        with running_chromium() as browser:
            yield browser
    except NoChromium as error:
        pytest.skip(str(error))


_SET_BY_LIBRARIES = (
    "coordinate_descent_check_all_directions",
    "coordinate_descent_tuning",
    "force_fuse_int_mm_with_mul",
    "freezing",
    "max_autotune",
)


@pytest.fixture
def options_of_inductor() -> Iterator[None]:
    """Put back, at the end, the options that a library such as torchao sets for the process."""
    from torch._inductor import config

    with config.patch(config.get_config_copy()):
        yield


def _state() -> dict[str, Any]:
    """What a test must leave as it found it, as far as torch has been imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    return {
        "trace handlers": [
            handler
            for handler in logging.getLogger("torch.__trace").handlers
            if type(handler).__module__.startswith("workbench")
        ],
        "grad mode": torch.is_grad_enabled(),
        "default dtype": torch.get_default_dtype(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "cache of autocast": torch.is_autocast_cache_enabled(),
        "dtypes of autocast": [torch.get_autocast_dtype(device) for device in ("cpu", "cuda")],
        "folder of Triton's cache": os.environ.get("TRITON_CACHE_DIR"),
        "module hooks": len(torch.nn.modules.module._global_forward_hooks),
        "options of Inductor": _options(),
    }


def _hooks() -> list[str]:
    """Which names of torch are ours now."""
    rows = [
        row
        for value in vars(tp).values()
        for row in (value if isinstance(value, tuple) else (value,))
        if isinstance(row, tp.Name) and row.module in sys.modules
    ]
    return [row.target for row in rows if hasattr(row.find(), "_workbench_link")]


def _options() -> Any:
    config = sys.modules.get("torch._inductor.config")
    return None if config is None else {name: getattr(config, name) for name in _SET_BY_LIBRARIES}


@pytest.fixture(autouse=True)
def no_state_leaks() -> Iterator[None]:
    """Fail a test that leaves a hook in torch, a handler or a changed mode behind."""
    before = _state()
    yield
    after = _state()
    assert "torch" not in sys.modules or _hooks() == []
    for name in before.keys() & after.keys():
        if before[name] is not None:  # else the test imported what has it
            assert after[name] == before[name], f"the test changed the {name}"

"""The examples in public docstrings run, and describe arguments that exist."""

from __future__ import annotations

import builtins
import doctest
import inspect
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import workbench as wb

TRACE = Path(__file__).parent / "records" / "traces" / "recompiles.log.gz"
PROFILE = Path(__file__).parent / "gpu" / "traces" / "eager.json.gz"
KERNELS = Path(__file__).parent / "records" / "kernel_logs"
SLOW = {"Package", "Sweep", "compile_async", "fits", "matrix", "package", "roundtrip", "sweep"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FUNCTIONS = sorted(name for name in wb.__all__ if inspect.isroutine(getattr(wb, name)))


def marked(names: list[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


def run_examples(name: str, text: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Run the examples of a docstring; what they leave is returned."""
    example = doctest.DocTestParser().get_doctest(text, dict(names), name, None, 0)
    assert example.examples, f"{name} has no example"
    said: list[str] = []
    left = dict(names)
    example.globs = left
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "_", None, raising=False)  # where doctest leaves the last value
        doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(
            example, out=said.append, clear_globs=False
        )
    assert not said, "".join(said)
    return left


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the package's own docstring leaves, in a folder and an account of its own."""
    folder = tmp_path_factory.mktemp("docstrings")
    shutil.copytree(TRACE.parent, folder / "trace", ignore=lambda _, names: {*names} - {TRACE.name})
    shutil.copy(PROFILE, folder / "trace.json.gz")
    shutil.copytree(KERNELS, folder / "triton_logs")
    embed = wb.options.embed
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(Path(__file__).parent / "worlds" / "own_kernels" / "programs")
        patch.setenv("AOT_WORKBENCH_DATA", str(folder / "data"))
        yield run_examples("workbench", wb.__doc__ or "", {"__name__": "__main__"})
    wb.options.embed = embed


@pytest.mark.parametrize("name", marked(FUNCTIONS))
def test_the_examples_of_a_function_run(name: str, start: dict[str, Any]) -> None:
    run_examples(name, inspect.getdoc(getattr(wb, name)) or "", start)


@pytest.mark.parametrize(
    "name", marked(["Package", "Report", "RunProfile", "Sweep", "WorkbenchError", "options"])
)
def test_the_examples_of_what_is_no_function_run(name: str, start: dict[str, Any]) -> None:
    run_examples(name, inspect.getdoc(getattr(wb, name)) or "", start)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_describes_parameters_that_exist(name: str) -> None:
    function = getattr(wb, name)
    text = inspect.getdoc(function) or ""
    described = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    named = {
        part.strip()
        for line in described.splitlines()
        if line and not line.startswith(" ")
        for part in line.split(",")
    }
    assert named <= set(inspect.signature(function).parameters)
    assert not text or text.splitlines()[0].endswith(".")

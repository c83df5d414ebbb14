"""`%aot_compile?` and the help of the other magics agree with the API."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench import api
from workbench.notebook.magics import list_own_magics

MAGICS: dict[str, Any] = {
    name: magic
    for kind in list_own_magics()
    for name, magic in vars(kind).items()
    if hasattr(magic, "options")
}
OTHER_NAMES = {"option": "options", "dynamic": "dynamic_shapes", "no_grad": "grad"}
OF_THE_NOTEBOOK = {"output", "no_view", "save", "package", "bg", "annotate", "html"}
OF_PYTHON = {"fn", "args", "kwargs", "capture", "progress"}  # the call, and what watches


def examples(name: str) -> list[str]:
    text = inspect.getdoc(MAGICS[name]) or ""
    return re.findall(rf"(?:^    |: )%{{1,2}}{name} (.*?)\.?$", text, re.MULTILINE)


@pytest.mark.parametrize("name", MAGICS)
def test_the_examples_in_the_help_are_understood(name: str, shell: InteractiveShell) -> None:
    magic = shell.find_magic(name) or shell.find_magic(name, "cell")
    parsed = [magic.__self__.parse_line(magic, line) for line in examples(name)]
    assert parsed or name == "aot_explain"  # which has no options to show


@pytest.mark.parametrize("name", MAGICS)
def test_help_names_every_option(
    name: str, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(f"%{name}?" if name in shell.magics_manager.magics["line"] else f"%%{name}?")
    shown = "".join(capsys.readouterr().out.split())  # argparse breaks lines at hyphens
    for option in MAGICS[name].options:
        assert all(flag in shown for flag in option.names)
        assert "".join(option.help.split()) in shown


def test_every_option_is_an_argument_of_the_api_and_the_other_way_round() -> None:
    def arguments(name: str) -> set[str]:
        keys = (option.names[-1].lstrip("-").replace("-", "_") for option in MAGICS[name].options)
        return {OTHER_NAMES.get(key, key) for key in keys} - OF_THE_NOTEBOOK

    known = set(inspect.signature(api.aot_compile).parameters)
    # `-d` names dimensions, or says True or False for all
    assert arguments("aot_compile") | {"dynamic"} == known - OF_PYTHON
    assert arguments("aot_load") <= set(inspect.signature(api.load).parameters)
    assert arguments("aot_fits") <= set(inspect.signature(api.fits).parameters)

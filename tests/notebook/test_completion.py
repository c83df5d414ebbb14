"""What Tab completes behind a magic."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench.compiler.request.compile_request import MODES, list_known_gpus
from workbench.device_kinds import TARGETS
from workbench.notebook.completion import list_completions
from workbench.notebook.magics import list_own_magics

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # Completer.complete

NAMES: dict[str, Any] = {"model": abs, "mask": 3, "forward": len, "_hidden": abs, "Net": int}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%aot_compile -m ", list(MODES)),
        ("%aot_compile -m max-autotune-", ["max-autotune-no-cudagraphs"]),
        ("%aot_compile -t ", [*TARGETS, *(gpu.name for gpu in list_known_gpus())]),
        ("%aot_compile -t h1", ["h100", "h100-pcie"]),
        ("%aot_compile -g st", ["strict"]),
        ("%%aot_compile --no-v", ["--no-view"]),
        ("%aot_compile --no-grad mo", ["model"]),
        ("%aot_compile -b ", ["inductor", "aot_eager", "eager", "forward", "model"]),
        ("%aot_explain fo", ["forward"]),
        ("%aot_compile model(ma", None),
        ("%aot_compile -s mod", None),
        ("%aot_compile -p mod", None),
        ("%aot_compile --pack", ["--package"]),
        ("%aot_load mod", None),
        ("mode", None),
        ("%timeit -", None),
    ],
)
def test_suggestions(text: str, expected: list[str] | None) -> None:
    magics = {name: magic for kind in list_own_magics() for name, magic in vars(kind).items()}
    assert list_completions(text, magics, NAMES) == expected


def completions(shell: InteractiveShell, text: str) -> list[str]:
    shell.set_completer_frame()
    shell.Completer.use_jedi = False
    found: list[str] = shell.complete(None, text, len(text))[1]
    return found


def test_tab_offers_only_ours(shell: InteractiveShell) -> None:
    assert set(completions(shell, "%aot_compile -m ")) == set(MODES)
    options = completions(shell, "%aot_compile --")
    assert "--no-grad" in options
    assert all(option.startswith("--") for option in options)


def test_other_lines_are_left_alone(shell: InteractiveShell) -> None:
    shell.user_ns["some_long_name"] = 1
    assert "some_long_name" in completions(shell, "some_l")
    assert "some_long_name" in completions(shell, "%aot_compile print(some_l")

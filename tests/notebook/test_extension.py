from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench import api
from workbench.notebook import extension

NAMES = ("aot_compile", "aot_explain", "aot_load", "aot_inspect")


def state(shell: InteractiveShell) -> Any:
    return (
        {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        set(shell.magics_manager.registry),
        list(shell.Completer.custom_matchers),
        {name: list(shell.events.callbacks[name]) for name in shell.events.callbacks},
        set(shell.user_ns),
        shell.display_formatter,
    )


def test_unloading_leaves_ipython_as_it_was_found(bare_shell: InteractiveShell) -> None:
    shell = bare_shell
    shell.register_magic_function(lambda line: line, "line", "aot_load")  # somebody else's
    shell.find_line_magic("load_ext")  # IPython loads its own magics when they are first used
    before = state(shell)
    shell.run_line_magic("load_ext", "workbench")
    assert all(shell.find_line_magic(name) for name in NAMES)
    assert shell.find_cell_magic("aot_compile")
    shell.run_line_magic("unload_ext", "workbench")
    assert state(shell) == before


def test_reloading_registers_once(shell: InteractiveShell) -> None:
    shell.run_line_magic("reload_ext", "workbench")
    ours = [m for m in shell.Completer.custom_matchers if "workbench" in m.__module__]
    assert len(ours) == 1


def test_unloading_twice_is_harmless(shell: InteractiveShell) -> None:
    shell.run_line_magic("unload_ext", "workbench")
    shell.run_line_magic("unload_ext", "workbench")


def test_the_cache_is_warmed_for_a_person_only(
    bare_shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    class WarmUp:
        def stop(self) -> None:
            events.append("stop")

    monkeypatch.setattr(api, "warm_up", lambda: events.append("start") or WarmUp())
    for watched in (False, True):
        monkeypatch.setattr(extension, "is_interactive", lambda shell, watched=watched: watched)
        bare_shell.run_line_magic("load_ext", "workbench")
        bare_shell.run_line_magic("unload_ext", "workbench")
    assert events == ["start", "stop"]

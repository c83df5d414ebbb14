"""What the world of expectations adds: `wb.expect`, and the marker and fixture of pytest."""

from __future__ import annotations

from types import ModuleType

from workbench.worlds.world import World


class ExpectationsWorld(World):
    """What a program may compile to: limits and baselines, in a script and in tests."""

    name = "expectations"
    title = "Expectations"
    names = dict.fromkeys(("expect",), "workbench.worlds.expectations.calls")

    def find_pytest_plugin(self) -> ModuleType:
        """The marker and the fixture `compiles`."""
        from workbench.worlds.expectations import pytest_plugin

        return pytest_plugin


WORLD = ExpectationsWorld()

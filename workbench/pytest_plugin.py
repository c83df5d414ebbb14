"""The plugin of pytest: that of every world which has one.

Nothing of torch is imported before a test uses them.
"""

from __future__ import annotations

import pytest

from workbench.installation import explain_overwritten
from workbench.worlds.world import ask, list_worlds


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugins, which may add options."""
    for world in list_worlds():
        plugin = ask(world, lambda world: world.find_pytest_plugin(), None, "the plugin of pytest")
        if plugin is not None:
            pluginmanager.register(plugin, f"workbench-{world.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Warn where another project has overwritten the package."""
    if wrong := explain_overwritten():
        config.issue_config_time_warning(pytest.PytestConfigWarning(wrong), stacklevel=2)

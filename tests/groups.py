"""Which test files run in one process when several share the tests.

What a session's fixture makes costs seconds and is made once in each process: files that ask for
the same one stay together. All other files are spread one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling

SHARED = {
    "JupyterLab": {"lab"},
    "virtual GPU": {"worker"},
    "packages": {"small", "tied", "plain", "later", "two", "many"},
}
"""The groups, each with its fixtures; a file belongs to the first that it asks anything of."""


def group_of(file: str, fixtures: set[str]) -> str:
    """The group of a file whose tests ask for these fixtures: the file itself where none fits."""
    return next((name for name, shared in SHARED.items() if shared & fixtures), file)


def _fixtures(items: Iterable[pytest.Item]) -> dict[str, set[str]]:
    """What the tests of each file ask for, the fixtures of fixtures included."""
    found: dict[str, set[str]] = {}
    for item in items:
        found.setdefault(str(item.path), set()).update(getattr(item, "fixturenames", ()))
    return found


@pytest.hookimpl(tryfirst=True)  # the process adds the group to the names of the tests after this
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("loadgroup", False):
        return
    fixtures = _fixtures(items)
    for item in items:
        file = str(item.path)
        if (group := group_of(file, fixtures[file])) != file:
            item.add_marker(pytest.mark.xdist_group(group))


class _ByGroupOrFile(LoadGroupScheduling):
    """xdist's own keeps the tests of a group together, but not those of a file without one."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope


@pytest.hookimpl(optionalhook=True)  # where plugins are not loaded by themselves
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByGroupOrFile | None:
    return _ByGroupOrFile(config, log) if config.getoption("dist") == "loadgroup" else None

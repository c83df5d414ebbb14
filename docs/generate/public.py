"""The Python API: every public name, and the classes that its functions give."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from docs.generate.pages import Page
from workbench import errors
from workbench.api import (
    compilation,
    evaluation,
    files,
    views,
)
from workbench.worlds.world import list_worlds

_MODULES = {
    compilation: ("compile", "Compile"),
    evaluation: ("measure", "Check and measure"),
    files: ("files", "Files"),
    views: ("look", "Look and compare"),
}
"""By module of the API: the name and the title of its page."""
_CLASSES = ("Package", "Report", "Sweep")
_HEAD = """# Python API

```python
import workbench as wb
```

Every name below is one of `wb`; what its functions give is described after them. Everything that is
raised is a `wb.WorkbenchError`, see [messages](messages.md#errors).

| name | what it is |
| --- | --- |
"""


@dataclass(frozen=True)
class Named:
    """A public object: the name that a user writes, and where it is defined."""

    name: str
    path: str


_ALONE = {
    "Report": Named("wb.Report", "workbench.report.record.Report"),
    "Options": Named("wb.options", "workbench.settings.Options"),
}
"""By title of their page, what no module of the API gives."""


def pages() -> list[Page]:
    """The names at a glance, then a page for each module of the API."""
    rows, made, seen = [], [], set()
    of_worlds = _list_world_classes()
    for module, (name, title) in (_MODULES | _list_world_modules()).items():
        functions = [Named(f"wb.{n}", f"{module.__name__}.{n}") for n in module.__all__]
        classes = [each for each in _given(module) if each.path not in seen]
        seen |= {each.path for each in classes}
        rows += [_row(each, f"{name}.md") for each in (*functions, *classes)]
        entries = "\n\n".join(map(_entry, (*functions, *classes)))
        about = inspect.getdoc(module)
        made.append(Page(f"reference/{name}.md", title, f"# {title}\n\n{about}\n\n{entries}\n"))
    alone = {title: named for title, named in of_worlds.items() if named.path not in seen}
    for title, named in (_ALONE | alone).items():
        place = f"{title.lower()}.md"
        rows.append(_row(named, place))
        made.append(Page(f"reference/{place}", title, f"# {title}\n\n{_entry(named)}\n"))
    rows += [
        f"| [`wb.{name}`](messages.md#errors) | {_first(getattr(errors, name))} |"
        for name in errors.__all__
    ]
    return [Page("reference/index.md", "Python API", _HEAD + "\n".join(rows) + "\n"), *made]


def _list_world_modules() -> dict[ModuleType, tuple[str, str]]:
    """The modules of the worlds' functions, each a page that is called like its world."""
    modules = {
        import_module(module): (world.name, world.title)
        for world in list_worlds()
        for module in dict.fromkeys(world.names.values())
    }
    return {module: page for module, page in modules.items() if hasattr(module, "__all__")}


def _list_world_classes() -> dict[str, Named]:
    """The public classes of the worlds by name: their modules list no functions."""
    return {
        name: Named(f"wb.{name}", f"{module}.{name}")
        for world in list_worlds()
        for name, module in world.names.items()
        if not hasattr(import_module(module), "__all__")
    }


def _given(module: ModuleType) -> Iterable[Named]:
    """The classes that the functions of a module give, as their annotations name them."""
    tree = ast.parse(inspect.getsource(module))
    homes = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    found: dict[str, Named] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in module.__all__ and node.returns:
            for part in ast.walk(node.returns):
                home = homes.get(part.id, "") if isinstance(part, ast.Name) else ""
                if isinstance(part, ast.Name) and home.startswith("workbench."):
                    is_public = part.id in (*_CLASSES, *_list_world_classes())
                    name = f"wb.{part.id}" if is_public else part.id
                    found[part.id] = Named(name, f"{home}.{part.id}")
    return found.values()


def _entry(named: Named) -> str:
    return (
        f"::: {named.path}\n    options:\n      heading: {named.name}\n"
        "      show_root_heading: true\n      heading_level: 2"
    )


def _row(named: Named, page: str) -> str:
    home, _, name = named.path.rpartition(".")
    return (
        f"| [`{named.name}`]({page}#{named.path}) | {_first(getattr(import_module(home), name))} |"
    )


def _first(described: object) -> str:
    """The first sentence of a docstring."""
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())

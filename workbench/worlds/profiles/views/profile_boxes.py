"""Modules, operators and kernels of a profile as an icicle: equal layers are one box."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.number_text import number_text, plural
from workbench.views.wire.codec import shorten
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, ModuleTime
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.messages import ProfileBox, ProfileKind
from workbench.worlds.profiles.views.profile_words import KernelWords

_NUMBERED = re.compile(r"[_.]\d+$")
_LEAST_EQUAL = 4  # modules of one class in one module, from which on they are one box
_LEAST_SHARE = 0.0005  # of the whole: narrower boxes are not made


@dataclass
class _Node:
    """A box before it has its place; `ids` are what belongs to it: its modules, its kernels."""

    title: str
    ids: dict[str, None] = field(default_factory=dict)
    kind: ProfileKind | None = None
    row: str | None = None
    us: float = 0.0
    calls: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def find(self, key: str, title: str) -> _Node:
        """The child of a key, made when it is first asked for."""
        return self.children.setdefault(key, _Node(title))


def draw_boxes(
    profile: RunProfile, words: Mapping[str, KernelWords]
) -> tuple[list[ProfileBox], dict[str, list[str]]]:
    """The boxes, parents before their children, and by box the ids of what belongs to it."""
    rows = list(profile.tables["modules"])
    modules = {row.id: row for row in rows}
    places = {row.id: f"modules:{place}" for place, row in enumerate(rows)}
    paths = _find_paths(modules)
    root = _Node("")
    for event in profile.tables["events"]:
        _add(root, event, paths, places, words)
    boxes: list[ProfileBox] = []
    own: dict[str, list[str]] = {}
    _place(root, boxes, own, parent=-1, level=0, begin=0.0, whole=root.us)
    return boxes, own


def _add(
    root: _Node,
    event: DeviceEvent,
    paths: Mapping[str, Sequence[tuple[str, str, str]]],
    places: Mapping[str, str],
    words: Mapping[str, KernelWords],
) -> None:
    """Adds the time of an event to its modules, its operator and its kernel."""
    kernel, us = words[event.kernel], event.duration_us
    node = root
    node.us += us
    path = paths.get(event.module, ())
    outside = [("outside", "outside modules", "")] if places and not path else []
    for key, title, id in (*path, *outside):
        node = node.find(f"module {key}", title)
        node.ids |= dict.fromkeys((places[id], kernel.row) if id else (kernel.row,))
        node.us += us
        node.calls += 1
    if kernel.operator:
        node = node.find(f"operator {kernel.operator}", kernel.operator)
        node.ids[kernel.row] = None
        node.us += us
        node.calls += 1
    node = node.find(f"kernel {event.kernel}", kernel.title)
    node.kind, node.row = kernel.kind, kernel.row
    node.us += us
    node.calls += 1


def _find_paths(modules: Mapping[str, ModuleTime]) -> dict[str, list[tuple[str, str, str]]]:
    """Of each module the boxes around it and its own: a key among its siblings, title, id."""
    siblings: dict[str, list[ModuleTime]] = defaultdict(list)
    for row in modules.values():
        siblings[row.parent].append(row)
    own: dict[str, tuple[str, str]] = {}
    for rows in siblings.values():
        own |= _name_siblings(rows)
    paths: dict[str, list[tuple[str, str, str]]] = {}
    for id in modules:
        path, at = list[tuple[str, str, str]](), id
        while at in modules and len(path) < len(modules):  # a damaged file may go round
            path.insert(0, (*own[at], at))
            at = modules[at].parent
        paths[id] = path
    return paths


def _name_siblings(rows: Iterable[ModuleTime]) -> dict[str, tuple[str, str]]:
    """By id a key and a title: many of one class share them, a few are told apart by order."""
    classes: dict[str, list[ModuleTime]] = defaultdict(list)
    for row in rows:
        classes[_NUMBERED.sub("", row.name)].append(row)
    named: dict[str, tuple[str, str]] = {}
    for name, own in classes.items():
        is_one = len(own) >= _LEAST_EQUAL
        for number, row in enumerate(own):
            title = f"{name} × {len(own)}" if is_one else name
            named[row.id] = (name if is_one else f"{name} {number}", title)
    return named


def _place(
    node: _Node,
    boxes: list[ProfileBox],
    own: dict[str, list[str]],
    *,
    parent: int,
    level: int,
    begin: float,
    whole: float,
) -> None:
    for child in sorted(node.children.values(), key=lambda each: -each.us):
        if child.us < whole * _LEAST_SHARE:
            break
        place = len(boxes)
        id = f"boxes:{place}"
        boxes.append(
            {
                "id": id,
                "title": child.title,
                "words": _describe(child, whole),
                "parent": parent,
                "level": level,
                "begin_us": shorten(begin),
                "last_us": shorten(child.us),
                "kind": child.kind,
                "row": child.row,
            }
        )
        own[id] = list(child.ids)
        _place(child, boxes, own, parent=place, level=level + 1, begin=begin, whole=whole)
        begin += child.us


def _describe(node: _Node, whole: float) -> str:
    time = number_text(node.us * 1e-6, "seconds")
    share = number_text(node.us / whole if whole else 0.0, "percent")
    return f"{node.title}: {time}, {share} of the time, {plural(node.calls, 'kernel call')}"

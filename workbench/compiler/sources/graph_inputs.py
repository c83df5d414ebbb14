"""What a captured graph takes, in words: names and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.compiler.sources.node_texts import NodeTexts

MOST = 4
"""Inputs that are named; the others are counted."""
_LOCAL = re.compile(r"^L\['(\w+)'\]")
_KEYWORD = re.compile(r"^kwargs\['(\w+)'\]")  # of a wrapper that hands all of them on
_STATIC = "_dynamo_static_input_type"  # torch's mark of parameters, buffers and pinned tensors


def inputs_of(nodes: Iterable[Any], texts: NodeTexts) -> str:
    """The tensors that differ from call to call, such as `ids [1, 5], mask [1, 1, 5, 9]`.

    Parameters and buffers are left out; an open size is torch's symbol.
    """
    every = list(_inputs(nodes, texts))
    found = [text for text in every if not text.endswith("[]")] or every  # scalars say little
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return ", ".join(found[:MOST]) + more


def _inputs(nodes: Iterable[Any], texts: NodeTexts) -> Iterator[str]:
    for node in nodes:
        if node.op != "placeholder":
            continue
        shape = texts.tensor(node.meta.get("example_value"))[0]
        if shape is not None and _STATIC not in (node.meta.get("tensor_dict") or ()):
            yield f"{_name(node)} [{', '.join(map(str, shape))}]"


def _name(node: Any) -> str:
    """What the user calls it; torch's name of the node where Dynamo keeps no source."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", None)
    text = name() if callable(name) else name  # a method until torch 2.12
    return _KEYWORD.sub(r"\1", _LOCAL.sub(r"\1", text)) if isinstance(text, str) else node.name

"""The weights of a library from before torch 2.13, which fills a C++ map instead of an array.

`AOTInductorModelContainerExtractConstantsMap` takes an `std::unordered_map<std::string, void*>`.
Its layout is part of libstdc++'s ABI, which does not change; libraries from 2.13 on also have
`ExtractConstantsMapEntries`, which needs none of this.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import byref, c_char, c_float, c_size_t, c_void_p
from typing import Any


class _String(ctypes.Structure):
    """`std::string`: up to 15 characters lie in it, more lie elsewhere."""

    _fields_ = (("data", c_void_p), ("size", c_size_t), ("inside", c_char * 16))

    def text(self) -> str:
        return ctypes.string_at(self.data or 0, self.size).decode()


class _Node(ctypes.Structure):
    _fields_ = (
        *(("next", c_void_p), ("name", _String)),
        *(("handle", c_void_p), ("hash", c_size_t)),
    )


class _Map(ctypes.Structure):
    """`std::unordered_map` when it is empty: its one bucket lies in it."""

    _fields_ = (
        *(("buckets", c_void_p), ("bucket_count", c_size_t)),
        *(("first", c_void_p), ("count", c_size_t)),
        *(("load", c_float), ("next_resize", c_size_t), ("bucket", c_void_p)),
    )


def filled(fill: Callable[[object], None], delete: Any = None) -> list[tuple[str, int]]:
    """The names and handles that `fill` puts into an empty map, which is freed afterwards.

    `delete` is C++'s `operator delete(void*)`, that of the process unless it is given.
    """
    empty = _Map(bucket_count=1, load=1.0)
    own = ctypes.addressof(empty) + _Map.bucket.offset
    empty.buckets = own
    try:
        fill(byref(empty))
        return [(node.name.text(), int(node.handle or 0)) for node in _nodes(empty)]
    finally:
        _free(empty, own, delete or ctypes.CDLL("libstdc++.so.6")["_ZdlPv"])


def _nodes(found: _Map) -> Iterator[_Node]:
    place = found.first
    while place:
        node = _Node.from_address(place)
        place = node.next  # a number, read before whoever asks frees the node
        yield node


def _free(found: _Map, own_bucket: int, delete: Any) -> None:
    delete.argtypes, delete.restype = (c_void_p,), None
    for node in _nodes(found):
        at = ctypes.addressof(node)
        if node.name.data != at + _Node.name.offset + _String.inside.offset:
            delete(node.name.data)
        delete(at)
    if found.buckets != own_bucket:
        delete(found.buckets)

"""Pickles that do harm when they are run, and pickles that are hard to read."""

from __future__ import annotations

import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path


def _call(module: str, name: str, *arguments: str) -> bytes:
    """A pickle that calls a function by name."""
    place, given = _texts(module, name), _texts(*arguments)
    return b"\x80\x04" + place + b"\x93(" + given + b"tR."


def _texts(*texts: str) -> bytes:
    return b"".join(b"X" + struct.pack("<I", len(text)) + text.encode() for text in texts)


def _old(module: str, name: str, argument: str) -> bytes:
    """The same call in the oldest opcodes, behind the header of a new pickle."""
    return f"c{module}\n{name}\n(V{argument}\ntR.".encode()


LEAVING_A_MARK = 9
"""How many of the harmful ones make the file that they are given, when they are run."""

HARMFUL: tuple[Callable[[str], bytes], ...] = (
    lambda m: _call("os", "system", f"touch {m}"),
    lambda m: _call("posix", "system", f"touch {m}"),
    lambda m: _call("builtins", "open", m, "w"),
    lambda m: _call("builtins", "exec", f"open({m!r}, 'w')"),
    lambda m: _call("builtins", "eval", f"open({m!r}, 'w')"),
    lambda m: _call("os", "mkdir", m),
    lambda m: _call("subprocess", "getoutput", f"touch {m}"),
    lambda m: b"\x80\x04" + _old("os", "system", f"touch {m}"),
    lambda m: b"\x80\x04(S'touch " + m.encode() + b"'\nios\nsystem\n.",
    lambda m: _call("importlib", "import_module", "antigravity"),
    lambda m: _call("torch.serialization", "load", m),
    lambda m: _call("ctypes", "CDLL", m),
    lambda m: pickle.dumps([_call("os", "system", f"touch {m}")], protocol=4),
    lambda m: pickle.dumps({"a": pickle.dumps(_call("os", "system", f"touch {m}"), 4)}, protocol=4),
)

UNREADABLE: tuple[bytes, ...] = (
    b"\x80\x04" + b"(" * 200_000 + b".",
    b"\x80\x04" + b"]" + b"2" * 200_000 + b".",
    b"\x80\x04" + b"]" + b"a" * 1000 + b".",
    b"\x80\x04\x8d" + b"\xff" * 8 + b"abc.",
    b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7fabc.",
    b"\x80\x04\x96" + b"\xff" * 7 + b"\x7fabc.",
    b"\x80\x04B\xff\xff\xff\xffabc.",
    b"\x80\x04\x8b\xff\xff\xff\x7f\0\0.",
    b"\x80\x04\x8b\xff\xff\xff\xff.",
    b"\x80\x04L" + b"9" * 100_000 + b"L\n.",
    b"\x80\x04I" + b"9" * 100_000 + b"\n.",
    b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    b"\x80\x04\x95\0\0\0\0\0\0\0\0" * 5000 + b"N.",
    b"\x80\x04Nr\xff\xff\xff\xff.",
    b"\x80\x04h\x07.",
    b"\x80\x04p-5\nN.",
    b"\x80\x04g999999999999999999\n.",
    b"\x80\x04\x84\xff\xff\xff\xff.",
    b"\x80\x04\x84\xff\xff\xff\x7f.",
    b"\x80\x04\x97\x98.",
    b"\x80\x04Pid\n.",
    b"\x80\x04\x93.",
    b"\x80\x04NN\x93.",
    b"\x80\x04R.",
    b"\x80\x04b.",
    b"\x80\x04t.",
    b"\x80\x04e.",
    b"\x80\x041.",
    b"\x80\x040.",
    b"\x80\x04S'\\xzz'\n.",
    b"\x80\x04V\\ud800\n.",
    b"\x80\x04X\x02\0\0\0\xff\xfe.",
    b"\x80\x04cno newline.",
    b"\x80\x04F1e999999\n.",
    b"\x80\xff.",
    b"\x80\x04" + b"\x80\x04" * 10_000 + b".",
    b"\x80\x04.",
    b"\x80\x05.",
    b"\x80\x04..",
)


def nested(depth: int, inner: bytes) -> bytes:
    """A pickle inside the bytes of a pickle, and so on."""
    for _ in range(depth):
        inner = b"\x80\x04B" + struct.pack("<I", len(inner)) + inner + b"."
    return inner


def many(inner: bytes, count: int) -> bytes:
    """A list of pickles in bytes."""
    one = b"B" + struct.pack("<I", len(inner)) + inner
    return b"\x80\x04](" + one * count + b"e."


def hostile_pickle(rng: random.Random, marker: Path) -> bytes:
    """One of them, often inside another."""
    inner = rng.choice(HARMFUL)(str(marker)) if rng.random() < 0.6 else rng.choice(UNREADABLE)
    shape = rng.random()
    if shape < 0.15:
        return nested(rng.choice((1, 3, 7, 8, 9, 400)), inner)
    if shape < 0.3:
        return many(inner[:5000], rng.choice((1, 10, 300)))
    if shape < 0.4:
        content = bytearray(inner)
        content[rng.randrange(2, len(content))] = rng.randrange(256)
        return bytes(content)
    return inner

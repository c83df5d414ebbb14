"""Files of other programs that are no artifact: said to be what they are, by their own marks.

Pickles are looked at by their opcodes; nothing is unpickled.
"""

from __future__ import annotations

import pickletools
from collections.abc import Collection, Iterator
from typing import NamedTuple, NoReturn

from workbench.errors import ArtifactError
from workbench.foreign_text import find_foreign_text, unpack_head

PICKLES = (b"\x80\x04", b"\x80\x05")
"""How the pickles begin that torch's save_compiled_function writes."""
_OLD_PICKLES = (b"\x80\x02", b"\x80\x03")
_WITHOUT_HEAD = b"(])}cIJKMFGSUVXTNL"  # opcodes that a pickle of protocol 0 or 1 begins with
_LEGACY_SAVE = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # torch.save before its zip files
_LEGACY_HEAD = 32  # bytes; from protocol 4 on, a frame of 9 comes before the mark
_CONTAINERS = {
    **{"EMPTY_LIST": "list", "EMPTY_DICT": "dict", "EMPTY_SET": "set"},
    **{"LIST": "list", "DICT": "dict"},
}
_SNAPSHOT = frozenset(("device_traces", "total_size"))  # beside "segments"; that of a segment
_TENSORS = ("torch.storage", "torch.nn.parameter")
_MAKES_TENSOR = " _rebuild_"  # how all functions of torch begin that a tensor is unpickled by
_OF_CLASSES = {
    "numpy": "an array of numpy",
    "pandas": "a table of pandas",
    "sklearn": "a model of scikit-learn",
    "torch.nn.modules": "a module of torch",
    "torch.fx": "a graph of torch.fx",
}
_CLASS = ("inspect", "Signature")
_SIGNATURE, _GUARDS = "signature", "guards_state"  # keys of what save_compiled_function writes
_MOST_CLASSES = 3  # that are looked at: an OrderedDict of tensors names tensors second
_MEMOS = ("PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
_GIVE_ONE = "Give the path of an .aot or .pt2 file."
_LOAD_WEIGHTS = (
    "Load it with torch.load(path, weights_only=True); the module that takes these weights is "
    "compiled with wb.aot_compile or wb.package."
)
# weights_only reads no opcode of protocol 4: "Unsupported operand 149"
_SAVE_AGAIN = (
    "torch.load(path, weights_only=True) reads no pickle of protocol 4 or 5. Save the weights "
    "again without pickle_protocol; the module that takes them is compiled with wb.aot_compile or "
    "wb.package."
)


class _Start(NamedTuple):
    """What a pickle begins with: its container, texts before any class, the first classes."""

    opened: str
    texts: frozenset[str]
    classes: tuple[str, ...]
    is_whole: bool  # every byte so far is an opcode


def refuse_text(name: str, head: bytes) -> None:
    """Raise `ArtifactError` for a text of another program, packed or not."""
    start = unpack_head(head)
    found = find_foreign_text(start)
    if found is not None:
        raise ArtifactError(f"{name} is {found.what}, not an artifact: {found.how}")
    if start.lstrip()[:1] in (b"{", b"[") and b'"traceEvents"' in start:
        raise ArtifactError(
            f"{name} is a trace of a profiler, not an artifact: open it with wb.read_profile."
        )


def refuse_zip(name: str, members: Collection[str]) -> None:
    """Raise `ArtifactError` for a zip file of torch without compiled code, by its members."""
    below = {member.partition("/")[2] for member in members}
    if "data.pkl" not in below or "archive_format" in below:
        return
    if "constants.pkl" in below:
        raise ArtifactError(
            f"{name} is a TorchScript program of torch.jit.save, not an artifact: torch.jit.load "
            "opens it. Compile the original module with wb.package."
        )
    raise ArtifactError(
        f"{name} is a file of torch.save (tensors or other objects), not an artifact: it holds no "
        f"compiled code. {_LOAD_WEIGHTS}"
    )


def refuse_old_pickle(name: str, content: bytes, end: bytes) -> None:
    """Raise `ArtifactError` for a pickle of protocol 0 to 3, which no compiled function is."""
    refuse_legacy_save(name, content)
    has_head = content.startswith(_OLD_PICKLES)
    if not has_head and (content[:1] not in _WITHOUT_HEAD or end != b"."):
        return
    if not has_head and len(content) > 2 and b"\n" not in content and b"\0" not in content:
        return  # "Notes." are opcodes too; a value of protocol 0 has a line, one of 1 a length
    start = _read_start(content)
    if has_head or (start.is_whole and (start.opened or start.classes)):
        refuse_plain_pickle(name, start)
        _refuse_objects(name, start, f" of protocol {content[1]}" if has_head else "")


def refuse_legacy_save(name: str, content: bytes) -> None:
    """Raise `ArtifactError` for what torch.save wrote before its zip files, in any protocol."""
    if content.startswith(PICKLES + _OLD_PICKLES) and _LEGACY_SAVE in content[:_LEGACY_HEAD]:
        how = _LOAD_WEIGHTS if content.startswith(_OLD_PICKLES) else _SAVE_AGAIN
        raise ArtifactError(
            f"{name} is a file of torch.save in its older form, not an artifact: it holds no "
            f"compiled code. {how}"
        )


def refuse_other_pickle(name: str, content: bytes) -> None:
    """Raise `ArtifactError` for a pickle that torch's save_compiled_function did not write."""
    if not _has_marks(content):
        start = _read_start(content)
        refuse_plain_pickle(name, start)
        _refuse_objects(name, start)


def _has_marks(content: bytes) -> bool:
    """Whether a pickle has a signature under its key, and the key of the guards.

    Wherever they are: a file of torch's that somebody put a call into is looked into, not refused.
    The guards may lie beyond what is read.
    """
    left = {_SIGNATURE, *_CLASS, _GUARDS}
    for name, argument in _opcodes(content):
        if name == "":
            return left <= {_GUARDS}
        if isinstance(argument, str):
            left -= {argument, *(argument.split(" ") if name in ("GLOBAL", "INST") else ())}
        if not left:
            return True
    return False


def _refuse_objects(name: str, start: _Start, protocol: str = "") -> NoReturn:
    what = f", the first {_tell_class(start.classes[0])}" if start.classes else ""
    raise ArtifactError(
        f"{name} is a pickle{protocol} of other objects{what}, not of a compiled function: "
        f"nothing of it was unpickled. {_GIVE_ONE}"
    )


def refuse_plain_pickle(name: str, start: _Start) -> None:
    """Raise `ArtifactError` by what a pickle begins with."""
    if "segments" in start.texts and _SNAPSHOT & start.texts:
        raise ArtifactError(
            f"{name} is a memory snapshot of torch.cuda.memory, not an artifact: look at it at "
            "pytorch.org/memory_viz. Of a compiled call, wb.memory says what takes memory."
        )
    if start.classes[:1] and start.classes[0].endswith(" set"):  # of protocol 0 to 3
        what = "a set"
    elif not start.classes:
        what = f"a {start.opened}" if start.opened else ""
    elif any(_is_tensor(one) for one in start.classes):
        what = "tensors"
    else:
        known = (what for module, what in _OF_CLASSES.items() if _is_of(start.classes[0], [module]))
        what = next(known, "")
    if what:
        raise ArtifactError(
            f"{name} is a pickle of {what}, not of a compiled function: nothing of it was "
            f"unpickled. {_GIVE_ONE}"
        )


def _is_tensor(named: str) -> bool:
    is_rebuilt = named.startswith("torch.") and _MAKES_TENSOR in named
    return is_rebuilt or _is_of(named, _TENSORS)


def _is_of(named: str, modules: Collection[str]) -> bool:
    return any(f"{named}.".startswith((f"{module}.", f"{module} ")) for module in modules)


def _tell_class(named: str) -> str:
    return ascii(named.replace(" ", "."))[1:-1][:80]


def _read_start(content: bytes) -> _Start:
    """What a pickle begins with, up to its first few classes."""
    opened, is_whole = "", True
    texts: set[str] = set()
    classes: list[str] = []
    recent: list[str] = []
    memo: dict[int, object] = {}
    last: object = None
    for name, argument in _opcodes(content):
        if name == "MEMOIZE":
            memo[len(memo)] = last
            continue
        if name in _MEMOS and isinstance(argument, int):
            memo[argument] = last
            continue
        last = memo.get(argument) if name in _GETS and isinstance(argument, int) else argument
        if name == "":
            is_whole = False
        elif name in ("GLOBAL", "STACK_GLOBAL", "INST"):
            classes.append(argument if isinstance(argument, str) else " ".join(recent[-2:]))
            if len(classes) == _MOST_CLASSES:
                break
        elif isinstance(last, str):
            recent = [*recent[-1:], last]
            texts |= set() if classes else {last}
        found = "plain value" if name == "STOP" else _CONTAINERS.get(name, "")
        opened = opened or found
    return _Start(opened, frozenset(texts), tuple(classes), is_whole)


def _opcodes(content: bytes) -> Iterator[tuple[str, object]]:
    """The opcodes with their arguments; "" where what follows is none, or lies beyond what is read.

    `pickletools` raises `ValueError` there, and others for texts that are no such argument.
    """
    try:
        for opcode, argument, _ in pickletools.genops(content):
            yield opcode.name, argument
    except Exception:  # of bytes that may be anything
        yield "", None

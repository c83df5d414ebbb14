"""One way to open every kind of file: artifacts and packages of ours, and what torch writes.

Files of other programs are recognised by their own marks, pickles by their opcodes: nothing is
unpickled.
"""

from __future__ import annotations

import hashlib
import os
import pickletools
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, NoReturn

from workbench.artifacts.zip_files.members import (
    Members,
    list_names,
    read_chunks,
    read_frame,
    read_lone_file,
)
from workbench.errors import ArtifactError
from workbench.file_path import check_file_path, open_flags
from workbench.foreign_text import find_foreign_text, unpack_head

if TYPE_CHECKING:
    from workbench.artifacts.archive.aot_container import Opened
    from workbench.artifacts.archive.package_container import OpenedPackage
    from workbench.artifacts.manifest.manifest import Manifest
    from workbench.artifacts.manifest.package_manifest import PackageManifest

TORCH_HEADER = b"PT2AOT\x01"
_PAYLOAD_LIMIT = 4 << 30
_GZIP, _PROGRAM = b"\x1f\x8b", b"session.json"  # how a .wbr begins, the first member of a .wbs
_MOST_PLAIN = 1 << 22  # bytes of a pickle that are looked through for classes
_HEAD = 4096  # bytes; of a compressed file, the first that can be unpacked begin after hundreds
_NAME_AT = 30  # of the first member of a zip
FRAMES = "frames"  # what only the contract of a file of variants has


@dataclass(frozen=True)
class LoadableKind:
    """A kind of file that can be called: how its names end, what only its loader takes.

    `handles.loading.loaders` has the loaders; some hold the record of a program.
    """

    suffix: str
    options: tuple[str, ...]
    has_program: bool = False


FUNCTION = LoadableKind(".aot", ("external_data", "f_globals"))
PACKAGE = LoadableKind(".pt2", ("num_runners", "variant"))
VARIANTS = LoadableKind(".aotv", ("on_miss",), has_program=True)
LOADABLE = (FUNCTION, PACKAGE, VARIANTS)


@dataclass(frozen=True, eq=False, repr=False)
class OpenedFile:
    """A checked file of one of six kinds.

    "artifact" (.aot of ours), "package" (.pt2 of ours), "torch" (a pickle of torch's
    save_compiled_function), "torch package" (.pt2 of torch with compiled code) or
    "exported program" (what torch.export.save wrote), "library" (a bare .so, which says nothing
    about itself beyond what the linker needs).
    """

    kind: str
    file: BinaryIO
    size: int
    artifact: Opened | None = None
    package: OpenedPackage | None = None
    library: Members | None = None

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of an artifact; other files have none."""
        return self.artifact.manifest if self.artifact else None

    @property
    def signed(self) -> Manifest | PackageManifest | None:
        """The manifest that signatures cover, which torch's files do not have."""
        return self.package.manifest if self.package else self.manifest

    @cached_property
    def digest(self) -> str:
        """What `trust=` takes: the manifest's hash, or that of all bytes of a file of torch."""
        if self.signed is not None:
            return self.signed.digest
        digest = hashlib.sha256()
        for chunk in read_chunks(self.file, 0, self.size):
            digest.update(chunk)
        return f"sha256:{digest.hexdigest()}"

    def damaged(self) -> list[str]:
        """The members that were changed since they were written; reads all of the file."""
        members = self.artifact or self.package
        manifest = self.signed
        if members is None:
            return []
        names = members.entries if manifest is None else manifest.members
        return [name for name in names if not members.is_whole(name)]

    @property
    def loadable(self) -> LoadableKind:
        """What opens it to be called; that refuses what only looks alike."""
        if self.package is not None:
            return PACKAGE
        has_frames = self.manifest is not None and FRAMES in self.manifest.contract
        return VARIANTS if has_frames else FUNCTION

    def require_function(self, name: str) -> None:
        """Raise `ArtifactError` unless the file holds a compiled function, not a package."""
        if self.package is not None:
            raise ArtifactError(f"{name} is a .pt2 file. Open it with wb.load({name!r}).")
        if self.loadable is VARIANTS:
            raise ArtifactError(
                f"{name} is an .aotv file with the code of a function with breaks. Open it with "
                f"wb.load({name!r}, fn)."
            )

    def whole(self) -> bytes:
        """The content of a file of torch, read from the open file, compared with the digest."""
        expected = self.digest
        self.file.seek(0)
        content = self.file.read(min(self.size, _PAYLOAD_LIMIT))  # read(n) sets n bytes aside
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != expected:
            raise ArtifactError("The file was changed while it was being read. Load it again.")
        return content


def find_pickle_start(content: bytes) -> int:
    """Where the pickle starts in what torch wrote: newer releases put a header before it."""
    return len(TORCH_HEADER) if content.startswith(TORCH_HEADER) else 0


@contextmanager
def open_any(path: str | PathLike[str], *, libraries: bool = False) -> Iterator[OpenedFile]:
    """Open a file and find out its kind; executes nothing.

    `libraries` lets a bare shared library in, which can be looked at, but not called. Raises
    `ArtifactError` when it is missing, empty, damaged or of another kind.
    """
    name = check_file_path(path)
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(_HEAD)
        _refuse_records(name, head)
        if not head:
            raise ArtifactError(f"{name} is empty: the copy was cut short. Get the file again.")
        if not head.strip():
            raise ArtifactError(f"{name} contains only white space: it is not an artifact.")
        if head[:2] == b"PK":
            yield _open_zip(name, file, size)
            return
        if size > _PAYLOAD_LIMIT:  # no code reaches so far, and such a pickle is not read whole
            raise ArtifactError(
                f"{name} is {size:,} bytes; libraries and pickles are read only up to "
                f"{_PAYLOAD_LIMIT:,} bytes. Make a package of the model with wb.package."
            )
        if head.startswith(b"\x7fELF") and libraries:
            yield OpenedFile("library", file, size, library=read_lone_file(file, name, size))
            return
        if head.startswith(b"\x7fELF"):
            raise ArtifactError(
                f"{name} is a bare shared library, such as torch._inductor.aot_compile writes. It "
                "does not describe its inputs, so calls cannot be checked. Look inside with "
                "wb.inspect, or package the model with wb.package."
            )
        if not head[find_pickle_start(head) :].startswith(PICKLES):
            refuse_text(name, head)
            refuse_old_pickle(name, *_read_ends(file))
            raise ArtifactError(
                f"{name} is not an artifact or package of this workbench, and was not written by "
                "torch's save_compiled_function, aoti_compile_and_package or torch.export.save. "
                "Pass the path of an .aot or .pt2 file."
            )
        content, end = _read_ends(file)
        refuse_legacy_save(name, content)
        if end != b".":  # every pickle ends with STOP
            raise ArtifactError(f"{name} is truncated: the pickle has no end. Get the file again.")
        if not content.startswith(TORCH_HEADER):
            refuse_other_pickle(name, content)
        yield OpenedFile("torch", file, size)


def _read_ends(file: BinaryIO) -> tuple[bytes, bytes]:
    """What is looked through for classes, and the last byte of a file."""
    file.seek(-1, os.SEEK_END)
    end = file.read(1)
    file.seek(0)
    return file.read(_MOST_PLAIN), end


def _is_kernel_log(head: bytes) -> bool:
    # records are slow to import, and what is loaded for a call needs none
    from workbench.report.wbr_file import is_kernel_log

    return is_kernel_log(head)


def _refuse_records(name: str, head: bytes) -> None:
    """Raise `ArtifactError` for what the workbench records: it is opened otherwise."""
    if head.startswith((_GZIP, b"{")) and _is_kernel_log(head):
        raise ArtifactError(
            f"{name} is a tritonparse log of compilations and launches of Triton kernels. Open it "
            "with wb.read_tritonparse, or look into it with `workbench report`."
        )
    how = command = ""
    if head.startswith(_GZIP):
        refuse_text(name, head)
        how = "wb.Report.load (a log: wb.read_trace)"
        command = " (a profile: `workbench profile`)"
    if head.startswith(b"PK") and head[_NAME_AT:].startswith(_PROGRAM):
        how = "wb.Session.load"
    if how:
        raise ArtifactError(
            f"{name} is a report, not an artifact. Open it with {how}, or look into it with "
            f"`workbench report`{command}."
        )


def _open_zip(name: str, file: BinaryIO, size: int) -> OpenedFile:
    try:
        frame = read_frame(file)
    except ArtifactError:
        refuse_zip(name, list_names(file))
        raise
    if not all("/" in entry.filename for entry in frame.entries) or not frame.entries:
        from workbench.artifacts.archive.aot_container import artifact_in

        return OpenedFile("artifact", file, size, artifact_in(frame))
    from workbench.artifacts.archive.package_container import CODE, FORMAT, read_package_container

    package = read_package_container(frame)
    if package.manifest is not None:
        return OpenedFile("package", file, size, package=package)
    if FORMAT not in package.entries:
        refuse_zip(name, list_names(file))
        raise ArtifactError(
            f"{name} is a zip file without {FORMAT}: not a .pt2 file. Pass the path of an .aot "
            "or .pt2 file."
        )
    if any(member.startswith(CODE) for member in package.entries):
        return OpenedFile("torch package", file, size, package=package)
    return OpenedFile("exported program", file, size, package=package)


@contextmanager
def open_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """One open descriptor of a regular file; raises `ArtifactError` when there is none."""
    name = check_file_path(path)
    try:
        handle = os.open(name, os.O_RDONLY | open_flags("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
    except OSError as error:
        raise ArtifactError(f"Cannot open {name}: {error.strerror}.") from error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise ArtifactError(f"{name} is {what}. Pass the path of a file.")
    with os.fdopen(handle, "rb") as file:
        yield file


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
    "numpy": "a NumPy array",
    "pandas": "a pandas table",
    "sklearn": "a scikit-learn model",
    "torch.nn.modules": "a torch module",
    "torch.fx": "a torch.fx graph",
}
_CLASS = ("inspect", "Signature")
_SIGNATURE, _GUARDS = "signature", "guards_state"  # keys of what save_compiled_function writes
_MOST_CLASSES = 3  # that are looked at: an OrderedDict of tensors names tensors second
_MEMOS = ("PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
_GIVE_ONE = "Pass the path of an .aot or .pt2 file."
_LOAD_WEIGHTS = (
    "Load it with torch.load(path, weights_only=True). Compile the module that uses these weights "
    "with wb.aot_compile or wb.package."
)
# weights_only reads no opcode of protocol 4: "Unsupported operand 149"
_SAVE_AGAIN = (
    "torch.load(path, weights_only=True) cannot read pickle protocols 4 and 5. Save the weights "
    "again without pickle_protocol. Compile the module that uses these weights with wb.aot_compile "
    "or wb.package."
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
    foreign = find_foreign_text(start)
    if foreign is not None:
        raise ArtifactError(f"{name} is {foreign.what}, not an artifact: {foreign.how}")
    if start.lstrip()[:1] in (b"{", b"[") and b'"traceEvents"' in start:
        raise ArtifactError(
            f"{name} is a profiler trace, not an artifact. Open it with wb.read_profile."
        )


def refuse_zip(name: str, members: Collection[str]) -> None:
    """Raise `ArtifactError` for a zip file of torch without compiled code, by its members."""
    below = {member.partition("/")[2] for member in members}
    if "data.pkl" not in below or "archive_format" in below:
        return
    if "constants.pkl" in below:
        raise ArtifactError(
            f"{name} is a TorchScript program of torch.jit.save, not an artifact. Open it with "
            "torch.jit.load, or package the eager module with wb.package."
        )
    raise ArtifactError(
        f"{name} was written by torch.save (tensors or other objects) and holds no compiled code. "
        f"{_LOAD_WEIGHTS}"
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
            f"{name} was written by torch.save in its older format and holds no compiled code. "
            f"{how}"
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
        f"{name} is a pickle{protocol} of other objects{what}, not of a compiled function; it was "
        f"not unpickled. {_GIVE_ONE}"
    )


def refuse_plain_pickle(name: str, start: _Start) -> None:
    """Raise `ArtifactError` by what a pickle begins with."""
    if "segments" in start.texts and _SNAPSHOT & start.texts:
        raise ArtifactError(
            f"{name} is a memory snapshot from torch.cuda.memory, not an artifact. View it at "
            "pytorch.org/memory_viz. For a compiled call, use wb.memory."
        )
    if start.classes[:1] and start.classes[0].endswith(" set"):  # of protocol 0 to 3
        what = "a set"
    elif not start.classes:
        what = f"a {start.opened}" if start.opened else ""
    elif any(_is_tensor(one) for one in start.classes):
        what = "tensors"
    else:
        descriptions = (
            what for module, what in _OF_CLASSES.items() if _is_of(start.classes[0], [module])
        )
        what = next(descriptions, "")
    if what:
        raise ArtifactError(
            f"{name} is a pickle of {what}, not of a compiled function; it was not unpickled. "
            f"{_GIVE_ONE}"
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
        kind = "plain value" if name == "STOP" else _CONTAINERS.get(name, "")
        opened = opened or kind
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

"""The pickles of a file: names that reading them would import, graded by what they can do."""

from __future__ import annotations

import io
import pickletools
import re
from collections.abc import Iterable, Iterator, Mapping

from workbench.artifacts.inspect.artifact_rows import LEVELS, ImportFacts, PickleSummary
from workbench.artifacts.inspect.opcodes import PickleFacts, read_pickle
from workbench.artifacts.programs import find_kernels
from workbench.artifacts.zip_files.members import Members, read_frame
from workbench.errors import ArtifactError

_RUNS, _UNKNOWN, _USUAL = LEVELS
_MEMBER_LIMIT, _ALL_LIMIT = 64 << 20, 256 << 20
_USUAL_PACKAGES = ("torch", "sympy", "numpy", "triton")
_USUAL_NAMES = frozenset(
    (
        "builtins:getattr",
        "builtins:list",
        "builtins:dict",
        "builtins:set",
        "builtins:frozenset",
        "builtins:tuple",
        "builtins:type",
        "builtins:object",
        "builtins:slice",
        "builtins:range",
        "builtins:int",
        "builtins:float",
        "builtins:bool",
        "builtins:str",
        "builtins:bytes",
        "collections:Counter",
        "collections:OrderedDict",
        "collections:defaultdict",
        "functools:partial",
        "inspect:Parameter",
        "inspect:Signature",
        "inspect:_ParameterKind",
        "inspect:_empty",
        "traceback:FrameSummary",
        "traceback:StackSummary",
    )
)
_RUNNING_MODULES = frozenset(
    (
        "os",
        "posix",
        "nt",
        "sys",
        "subprocess",
        "_posixsubprocess",
        "pty",
        "shutil",
        "socket",
        "ctypes",
        "_ctypes",
        "importlib",
        "_frozen_importlib",
        "imp",
        "runpy",
        "code",
        "codeop",
        "marshal",
        "pickle",
        "_pickle",
        "cloudpickle",
        "dill",
        "multiprocessing",
        "threading",
        "webbrowser",
        "urllib",
        "http",
        "requests",
        "tempfile",
        "pathlib",
        "builtins",
        "operator",
        "_operator",
        "timeit",
        "pdb",
        "bdb",
        "asyncio",
        "signal",
        "io",
        "_io",
    )
)
_RUNNING_NAMES = frozenset(
    (
        "eval",
        "exec",
        "compile",
        "open",
        "__import__",
        "system",
        "popen",
        "load",
        "loads",
        "load_inline",
        "run",
        "call",
        "check_output",
        "Popen",
        "breakpoint",
        "input",
        "globals",
    )
)


def level(name: str) -> str:
    """How a name that a pickle imports, as `module:name`, is to be judged; one of `LEVELS`."""
    module, _, attribute = name.partition(":")
    package, parts = module.split(".")[0], attribute.split(".")
    if name in _USUAL_NAMES:
        return _USUAL
    if " " in module or package in _RUNNING_MODULES or parts[-1] in _RUNNING_NAMES:
        return _RUNS
    if any(part in _RUNNING_MODULES or part.startswith("__") for part in parts):
        return _RUNS
    return _USUAL if package in _USUAL_PACKAGES else _UNKNOWN


def find_pickles(members: Members) -> Iterator[tuple[str, PickleFacts]]:
    """Every pickle among the members, in archives inside of the archive too."""
    left = _ALL_LIMIT
    for name in members.entries:
        size = members.size(name)
        if size <= min(left, _MEMBER_LIMIT) and _looks_like(members.part(name).read_at(0, 4)):
            left -= size
            yield from _inside(name, members.raw(name))


def _looks_like(head: bytes) -> bool:
    return head[:2] == b"PK" or (len(head) > 2 and head[0] == 0x80 and head[1] <= 5)


def _inside(name: str, content: bytes) -> Iterator[tuple[str, PickleFacts]]:
    if content[:2] != b"PK":
        yield name, read_pickle(content)
        return
    file = io.BytesIO(content)
    try:
        inner = Members(file, {entry.filename: entry for entry in read_frame(file).entries})
    except ArtifactError as error:
        yield name, PickleFacts(len(content), (), 0, complete=False, problem=str(error))
        return
    for member in inner.entries:
        head = inner.part(member).read_at(0, 4)
        if head[:2] != b"PK" and _looks_like(head):
            yield f"{name} > {member}", read_pickle(inner.raw(member))


def list_with_nested(name: str, facts: PickleFacts) -> Iterator[tuple[str, PickleFacts]]:
    """A pickle, then each that is nested in it, by name."""
    yield name, facts
    for number, inner in enumerate(facts.nested, 1):
        yield from list_with_nested(f"{name} > {number}", inner)


def summaries(name: str, facts: PickleFacts) -> Iterator[PickleSummary]:
    """A row for a pickle, then one for each that is nested in it."""
    for title, f in list_with_nested(name, facts):
        yield PickleSummary(title, f.size, len(f.globals), f.calls, f.persistent, f.problem)


def imports(name: str, facts: PickleFacts) -> Iterator[ImportFacts]:
    """A row for each name that a pickle imports, nested ones with their place."""
    for title, part in list_with_nested(name, facts):
        yield from (ImportFacts(title, imported, level(imported)) for imported in part.globals)


def sort_worst_first(rows: Iterable[ImportFacts]) -> tuple[ImportFacts, ...]:
    """The rows with the worst first."""
    return tuple(sorted(rows, key=lambda row: (LEVELS.index(row.level), row.name, row.pickle)))


def find_written_after(content: bytes, names: Iterable[str]) -> Mapping[str, str]:
    """The text that is the value of each of the names in the state of objects of a pickle."""
    keys, name = {*names}, ""
    by_name: dict[str, str] = {}
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in _SILENT:
                continue
            if isinstance(argument, str) and argument in keys:
                name = argument
            elif name and isinstance(argument, str) and argument not in _WRAPPED:
                by_name.setdefault(name, argument)
                name = ""
            elif name and not isinstance(argument, str) and opcode.name != "STACK_GLOBAL":
                name = ""  # None, or a number
    except (ValueError, IndexError, OverflowError):
        return by_name
    return by_name


_SILENT = frozenset(("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "FRAME"))
_WRAPPED = ("torch.torch_version", "TorchVersion")  # the class of a version, before its text


def find_named_texts(facts: Iterable[PickleFacts]) -> Iterator[tuple[str, str, str]]:
    """Name, language and text of the generated code among the texts of pickles."""
    counts: dict[str, int] = {}
    for text in (text for part in facts for text in part.all_texts()):
        kind, name = _kind(text)
        counts[kind] = counts.get(kind, 0) + 1
        title = name or f"{kind} {counts[kind]}"
        yield title, _LANGUAGES[kind], text
        for kernel in find_kernels(text) if kind == "wrapper" else ():
            language = "cpp" if "cpp" in kernel.language else kernel.language
            yield f"{title} {kernel.name}", language, kernel.source


_LANGUAGES = {"wrapper": "python", "graph": "graph", "module": "python", "text": "text"}


def _kind(text: str) -> tuple[str, str | None]:
    head = text.lstrip()[:400]
    if match := re.match(r"# AOT ID: \['([^']+)'\]", head):
        return "wrapper", f"wrapper {match[1]}"
    if re.match(r"class \S+\(torch\.nn\.Module\):\s+def forward", head):
        return "graph", None
    python = re.search(r"^(import|from|def|class|@)\b", head, re.MULTILINE)
    return ("module" if python else "text"), None

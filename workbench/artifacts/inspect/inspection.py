"""Looking inside a file without executing anything from it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import PurePosixPath
from typing import Any

from workbench.artifacts.archive.aot_container import MANIFEST, PAYLOAD, SKELETON, WEIGHTS
from workbench.artifacts.archive.file_kinds import OpenedFile, find_pickle_start, open_any
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.artifacts.inspect.artifact_rows import (
    DAMAGED,
    NOT_HASHED,
    WHOLE,
    ConstantFacts,
    GuardFacts,
    MemberFacts,
    ModelFacts,
    NeedFacts,
    ValueFacts,
)
from workbench.artifacts.inspect.file_facts import Facts, read_library_facts
from workbench.artifacts.inspect.functions import read_artifact_facts, read_torch_file_facts
from workbench.artifacts.inspect.opcodes import PickleFacts, read_pickle
from workbench.artifacts.inspect.packages import (
    read_member_text,
    read_package_facts,
    read_torch_package_facts,
)
from workbench.artifacts.inspect.pickles import find_pickles, imports, sort_worst_first, summaries
from workbench.artifacts.machine.elf import read_libraries
from workbench.artifacts.manifest.package_manifest import MANIFEST as PACKAGE_MANIFEST
from workbench.artifacts.trust.trust import TrustStore
from workbench.artifacts.zip_files.members import Members

HASHED = 64 << 20  # bytes of members that are compared with their hashes: about 0.05 s
_PICKLE_LIMIT = 256 << 20  # bytes; the memory that reading takes is about twice as much
_KINDS = {
    ".so": "library",
    ".cpp": "source",
    ".h": "source",
    ".json": "JSON",
    ".blob": "weights",
    ".cubin": "GPU code",
    ".hsaco": "GPU code",
    ".fatbin": "GPU code",
    ".ptx": "GPU code",
    ".b64": "report",
    ".wbr": "report",
    ".pt": "pickled tensors",
    ".safetensors": "weights",
}
_APART = ("values", "reports")  # no rows of one table
_NAMED = {
    MANIFEST: "manifest",
    PACKAGE_MANIFEST: "manifest",
    PAYLOAD: "pickle",
    SKELETON: "pickle",
    WEIGHTS: "weights",
}


def inspect(
    path: str | PathLike[str], *, verify: bool = False, store: TrustStore | None = None
) -> ArtifactReport:
    """Inspect a file of any kind, without executing anything from it.

    Members are compared with their hashes, the smallest first, up to 64 MiB in all; with
    `verify=True` all of them are. Raises `ArtifactError` when it is no artifact or its frame is
    damaged; a damaged member is marked in the result.
    """
    with open_any(path, libraries=True) as opened:
        members = opened.artifact or opened.package
        pickles = dict(_pickles(opened))
        facts = read_facts(opened, pickles.values())
        # without a manifest the digest is that of all bytes: a big file would be read to its end
        is_long = opened.signed is None and opened.kind != "torch" and opened.size > HASHED
        digest = "" if is_long and not verify else opened.digest
        libraries = read_libraries(opened.library or members)
        return ArtifactReport(
            path=os.fspath(path),
            kind=opened.kind,
            digest=digest,
            signature=(store or TrustStore.of_user()).standing(digest, opened.signed),
            size=opened.size,
            manifest=opened.signed,
            members=tuple(_members(members, verify)) if members else (),
            pickles=tuple(pickles.items()),
            inputs=tuple(row for row in facts.values if row.direction == "input"),
            outputs=tuple(row for row in facts.values if row.direction == "output"),
            **vars(libraries),
            names=sort_worst_first(
                row for name, part in pickles.items() for row in imports(name, part)
            ),
            pickled=tuple(row for name, part in pickles.items() for row in summaries(name, part)),
            **{name: tuple(rows) for name, rows in vars(facts).items() if name not in _APART},
            reports=facts.reports,
            loads="",
        )


def read_facts(opened: OpenedFile, pickles: Iterable[PickleFacts] = ()) -> Facts:
    """What a file says about itself; the texts in its pickles where these were read."""
    if opened.library is not None:
        return read_library_facts(read_libraries(opened.library))
    if opened.artifact is not None:
        return read_artifact_facts(opened.artifact, pickles)
    if opened.package is None:
        content = opened.whole() if opened.size <= _PICKLE_LIMIT else b""
        return read_torch_file_facts(content[find_pickle_start(content) :], pickles)
    if opened.package.manifest is not None:
        return read_package_facts(opened.package, opened.package.manifest)
    if opened.kind == "torch package":
        return read_torch_package_facts(opened.package)
    return read_exported_facts(opened.package)


def _pickles(opened: OpenedFile) -> Iterator[tuple[str, PickleFacts]]:
    if opened.artifact is not None:
        for name in (PAYLOAD, SKELETON):
            if name in opened.artifact.entries:
                size = opened.artifact.size(name)
                content = opened.artifact.raw(name) if size <= _PICKLE_LIMIT else None
                yield name, _read(content, size)
    elif opened.package is not None:
        yield from find_pickles(opened.package)
    elif opened.library is None:
        content = opened.whole() if opened.size <= _PICKLE_LIMIT else None
        yield "file", _read(content, opened.size)


def _read(content: bytes | None, size: int) -> PickleFacts:
    if content is None:
        problem = f"not read: {size} bytes exceed the limit of {_PICKLE_LIMIT}"
        return PickleFacts(size, (), 0, complete=False, problem=problem)
    return read_pickle(content[find_pickle_start(content) :])


def _members(members: Members, verify: bool) -> Iterator[MemberFacts]:
    states = _states(members, verify)
    for name in members.entries:
        yield MemberFacts(
            name=name,
            kind=_NAMED.get(name) or _KINDS.get(PurePosixPath(name).suffix, "data"),
            size=members.size(name),
            state=states[name],
            sha256=_listed(members, name),
        )


def _states(members: Members, verify: bool) -> dict[str, str]:
    left = HASHED
    states: dict[str, str] = {}
    for name in sorted(members.entries, key=members.size):
        left -= members.size(name)
        if name in (MANIFEST, PACKAGE_MANIFEST):
            states[name] = WHOLE  # it was compared with itself when it was opened
        elif left < 0 and not verify:
            states[name] = NOT_HASHED
        else:
            states[name] = WHOLE if members.is_whole(name) else DAMAGED
    return states


def _listed(members: Members, name: str) -> str:
    is_torch = isinstance(members, OpenedPackage) and members.manifest is None
    return "" if is_torch or name in (MANIFEST, PACKAGE_MANIFEST) else members.hash_of(name) or ""


_MODELS = "models/"
_JSON_LIMIT = 32 << 20
_FOLDERS = {"weights": "data/weights/", "constants": "data/constants/"}
_DTYPES = {  # torch._export.serde.schema.ScalarType
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^()]*\)")


def read_exported_facts(package: OpenedPackage) -> Facts:
    """What the JSON of each program says; a program that is too big or damaged is a note."""
    members = [n for n in package.entries if n.startswith(_MODELS) and n.endswith(".json")]
    programs = {PurePosixPath(n).stem: package.read_json(n, _JSON_LIMIT) for n in members}
    constants = list(_constants(package))
    sizes = {name: [c.size or 0 for c in constants if c.model == name] for name in programs}
    needs = {need.name: need for program in programs.values() for need in _needs(program)}
    lost = [name for name, program in programs.items() if not program]
    return Facts(
        models=[
            ModelFacts(name, "", "", "in the archive", len(own), sum(own))
            for name, own in sizes.items()
        ],
        values=[row for name, program in programs.items() for row in _values(name, program)],
        constants=constants,
        guards=[row for name, program in programs.items() for row in _guards(name, program)],
        needs=list(needs.values()),
        texts=[read_member_text(package, n, "json", _JSON_LIMIT // 4) for n in members],
        notes=[
            *(f"{name} is damaged or bigger than {_JSON_LIMIT} bytes: not read" for name in lost),
            "an exported graph without compiled code; load it with torch.export.load",
        ],
    )


def _at(data: Any, *keys: str) -> Any:
    """The value below keys in JSON, or None where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _values(model: str, program: Mapping[str, Any]) -> Iterator[ValueFacts]:
    tensors = _at(program, "graph_module", "graph", "tensor_values")
    ranges = _at(program, "range_constraints")
    signature = _at(program, "graph_module", "signature")
    for side, key in (("input", "user_input"), ("output", "user_output")):
        for spec in _rows(_at(signature, f"{side}_specs")):
            argument = _at(spec, key, "arg")
            if not isinstance(argument, dict):
                continue
            kind, value = next(iter(argument.items()), ("", None))
            name = str(_at(value, "name") or value)
            facts = _at(tensors, name) if kind == "as_tensor" else None
            yield ValueFacts(
                model=model,
                direction=side,
                name=name,
                kind=kind.removeprefix("as_"),
                dtype=_dtype(facts),
                shape=_sizes(_at(facts, "sizes"), ranges) if facts else "",
                device=str(_at(facts, "device", "type") or ""),
                stride=_sizes(_at(facts, "strides"), None) if facts else "",
            )


def _dtype(facts: Any) -> str:
    number = _at(facts, "dtype")
    return _DTYPES.get(number, str(number)) if isinstance(number, int) else ""


def _sizes(sizes: Any, ranges: Any) -> str:
    return f"[{', '.join(_size(size, ranges) for size in _rows(sizes))}]"


def _size(size: Mapping[str, Any], ranges: Any) -> str:
    expression = _at(size, "as_expr", "expr_str")
    if not isinstance(expression, str):
        return str(size.get("as_int", "?"))
    text = _SYMBOL.sub(r"\1", expression)
    bounds = _range(_at(ranges, text))
    return f"{text} in {bounds}" if bounds else text


def _range(row: Any) -> str:
    ends = [_at(row, end) for end in ("min_val", "max_val")]
    bounds = "..".join("" if end is None else str(end) for end in ends)
    return "" if bounds == ".." else bounds


def _constants(package: OpenedPackage) -> Iterator[ConstantFacts]:
    for what, folder in _FOLDERS.items():
        end = f"_{what}_config.json"
        for file in package.entries:
            if not (file.startswith(folder) and file.endswith(end)):
                continue
            config = _at(package.read_json(file, _JSON_LIMIT), "config")
            for name, row in config.items() if isinstance(config, dict) else ():
                member, meta = f"{folder}{_at(row, 'path_name')}", _at(row, "tensor_meta")
                is_there = member in package.entries
                other = "buffer" if what == "weights" else "constant"
                yield ConstantFacts(
                    model=PurePosixPath(file).name.removesuffix(end),
                    name=str(name),
                    kind="parameter" if _at(row, "is_param") else other,
                    dtype=_dtype(meta),
                    shape=_sizes(_at(meta, "sizes"), None),
                    size=package.size(member) if is_there else None,
                    place=member if is_there else "not in the archive",
                )


def _guards(model: str, program: Mapping[str, Any]) -> Iterator[GuardFacts]:
    why = "checked by the loaded module"
    code = program.get("guards_code")
    for text in code if isinstance(code, list) else ():
        yield GuardFacts(model, "SHAPE", str(text), True, why)
    ranges = _at(program, "range_constraints")
    for name, row in ranges.items() if isinstance(ranges, dict) else ():
        yield GuardFacts(model, "RANGE", f"{name} in {_range(row) or '..'}", True, why)


def _needs(program: Mapping[str, Any]) -> Iterator[NeedFacts]:
    if isinstance(version := program.get("torch_version"), str):
        yield NeedFacts("torch", version, "the torch release that exported the program")
    schema = program.get("schema_version")
    if isinstance(_at(schema, "major"), int):
        number = f"{_at(schema, 'major')}.{_at(schema, 'minor')}"
        yield NeedFacts("schema", number, "torch's own format")
    opset = program.get("opset_version")
    for name, version in opset.items() if isinstance(opset, dict) else ():
        yield NeedFacts(f"operators of {name}", str(version), "opset version")

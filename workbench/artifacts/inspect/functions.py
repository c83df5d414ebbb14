"""What a compiled function's file says: an `.aot` of ours, or what torch's own function saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.artifacts.archive.aot_container import (
    PAYLOAD,
    PROGRAM_RECORD,
    REPORT,
    WEIGHTS,
    Opened,
)
from workbench.artifacts.inspect.artifact_rows import (
    ConstantFacts,
    GuardFacts,
    KernelFacts,
    ModelFacts,
    NeedFacts,
    OutsideFacts,
    ValueFacts,
)
from workbench.artifacts.inspect.file_facts import (
    REPORT_LIMIT,
    Facts,
    build_rows,
    list_gpu_needs,
    list_version_needs,
    report_facts,
    shape_text,
    system_rows,
    titled,
)
from workbench.artifacts.inspect.opcodes import PickleFacts
from workbench.artifacts.inspect.pickles import find_named_texts, find_written_after
from workbench.artifacts.manifest.manifest import Manifest, StoredCall
from workbench.artifacts.programs import ITEM_BYTES, bytes_of
from workbench.compiler.calls.paths import Path
from workbench.compiler.sizes import dims
from workbench.errors import ArtifactError
from workbench.typed_data import read_value

_RELEASES = ("python", "torch", "toolkit", "triton")
_SYSTEM = {"gpu_name": "gpu"} | {f"{name}_version": name for name in _RELEASES}


def read_artifact_facts(opened: Opened, pickles: Iterable[PickleFacts]) -> Facts:
    """What the manifest, the report and the texts of the payload say."""
    manifest, faults = opened.manifest, list[str]()
    call = read_shown(StoredCall, manifest.contract, StoredCall(), faults)
    name = call.name or "function"
    reports, notes = _reports(name, opened)
    facts = _told(name, reports, notes)
    contract = read_shown(_Inputs, manifest.contract.get("inputs", {}), _Inputs(), faults)
    weights = [leaf for leaf in contract.leaves if leaf.path.root == contract.receiver]
    constants = [_constant(name, leaf, manifest) for leaf in weights]
    return Facts(
        models=[_model(name, manifest, constants, opened)],
        values=[
            *(_value(name, leaf) for leaf in contract.leaves if leaf not in weights),
            *facts.values,
        ],
        constants=constants,
        guards=[*_guards(name, manifest, facts, faults), *_baked(name, manifest, faults)],
        needs=[
            *list_version_needs(manifest.versions, manifest.built_for),
            *system_rows(manifest.needs),
            *build_rows(manifest.builds),
            *list_gpu_needs(manifest.built_for),
            *([] if manifest.device == "cpu" else [NeedFacts("device", manifest.device)]),
        ],
        outside=list(_outside(manifest, call)),
        kernels=[
            KernelFacts(name, kernel.name, kernel.registers, kernel.sha256)
            for kernel in (manifest.built_for.kernels if manifest.built_for else ())
        ],
        texts=facts.texts or titled(find_named_texts(pickles)),
        reports=reports,
        notes=[*facts.notes, *faults],
    )


def _reports(name: str, opened: Opened) -> tuple[Mapping[str, bytes], list[str]]:
    """The reports of a file by what they are of, and what cannot be read.

    Those of variants are of a part and its compile.
    """
    if REPORT in opened.entries and opened.size(REPORT) <= REPORT_LIMIT:
        return {name: opened.raw(REPORT)}, []
    if PROGRAM_RECORD not in opened.entries or opened.size(PROGRAM_RECORD) > REPORT_LIMIT:
        return {}, ["the file holds no report"]
    from workbench.report.program.program_record import find_program_records  # as for a report

    records = find_program_records()
    if records is None:
        return {}, [f"the package that reads the reports of {name} is not installed"]
    try:
        program = records.read(opened.raw(PROGRAM_RECORD), f"of {name}")
        rows = list(program.tables["compiles"])
        named = ((f"{rows[at].function} {rows[at].id}", r) for at, r in program.reports.items())
        return {title: report.to_bytes() for title, report in named}, []
    except ArtifactError as error:
        return {}, [f"the session of {name} cannot be read: {error}"]


def _told(name: str, reports: Mapping[str, bytes], notes: Sequence[str]) -> Facts:
    facts = [report_facts(name, content) for name, content in reports.items()]
    texts = ((text.name, text.language, text.text or "") for part in facts for text in part.texts)
    return Facts(
        values=[row for part in facts for row in part.values],
        guards=[row for part in facts for row in part.guards],
        texts=titled(texts),
        notes=[*notes, *(note for part in facts for note in part.notes)],
    )


def read_torch_file_facts(content: bytes, pickles: Iterable[PickleFacts]) -> Facts:
    """Facts from the texts inside a pickle of torch; what it checks is not written as text."""
    system = find_written_after(content, _SYSTEM)
    return Facts(
        models=[ModelFacts("function", "", "", "given by the caller", 0, 0)],
        needs=[
            NeedFacts(_SYSTEM[key], value, "as torch recorded it") for key, value in system.items()
        ],
        texts=titled(find_named_texts(pickles)),
        notes=[
            "torch stores neither guards nor inputs in a readable form; files of Compiled.save "
            "have both"
        ],
    )


@dataclass(frozen=True)
class _Leaf:
    """A leaf of a contract, as far as it is shown."""

    path: Path
    kind: str = ""
    type: str = ""
    shape: tuple[dims.Size, ...] = ()
    stride: tuple[int, ...] = ()
    dtype: str = ""
    device: str = ""
    value: str = ""


@dataclass(frozen=True)
class _Inputs:
    """The leaves of a call; `receiver` is the parameter whose weights are among them."""

    leaves: tuple[_Leaf, ...] = ()
    receiver: str | None = None


def read_shown(kind: Any, data: Any, otherwise: Any, faults: list[str]) -> Any:
    """A value that a manifest keeps as plain JSON; `otherwise` and a fault where it is damaged."""
    try:
        return read_value(kind, data)
    except (ValueError, ArtifactError) as error:
        faults.append(f"the manifest is damaged: {error}")
        return otherwise


def list_inputs(model: str, contract: Mapping[str, Any], faults: list[str]) -> list[ValueFacts]:
    """A row for each leaf of a contract; none and a fault where it is damaged."""
    return [_value(model, leaf) for leaf in read_shown(_Inputs, contract, _Inputs(), faults).leaves]


def _value(model: str, leaf: _Leaf) -> ValueFacts:
    is_tensor = leaf.kind == "tensor"
    return ValueFacts(
        model=model,
        direction="input",
        name=str(leaf.path),
        kind=leaf.type,
        dtype=leaf.dtype,
        shape=dims.text(leaf.shape) if is_tensor else leaf.value,
        device=leaf.device,
        stride=shape_text(leaf.stride) if is_tensor else "",
    )


def _constant(model: str, leaf: _Leaf, manifest: Manifest) -> ConstantFacts:
    sizes = tuple(size if isinstance(size, int) else size.text for size in leaf.shape)
    return ConstantFacts(
        model=model,
        name=str(leaf.path),
        kind=leaf.type.lower(),
        dtype=leaf.dtype,
        shape=dims.text(leaf.shape),
        size=bytes_of(sizes, ITEM_BYTES[leaf.dtype]) if leaf.dtype in ITEM_BYTES else None,
        place=WEIGHTS if manifest.weights else "the module that you pass",
    )


def _model(
    name: str, manifest: Manifest, constants: list[ConstantFacts], opened: Opened
) -> ModelFacts:
    inside = opened.size(WEIGHTS) if WEIGHTS in opened.entries else 0
    total = inside or sum(constant.size or 0 for constant in constants)
    place = "in the file" if inside else "with the module" if constants else "none"
    target = "" if manifest.target in ("host", "cpu") else manifest.target
    return ModelFacts(name, manifest.device, PAYLOAD, place, len(constants), total, target=target)


@dataclass(frozen=True)
class _Dropped:
    """A guard that the file does not have; `frozen` is the value that its code goes on with."""

    kind: str = ""
    name: str = ""
    why: str = ""
    frozen: str | None = None


@dataclass(frozen=True)
class _Baked:
    """A value from outside that is part of the code."""

    path: Path
    owner: str | None = None
    value: Any = None


def _guards(name: str, manifest: Manifest, facts: Facts, faults: list[str]) -> Iterator[GuardFacts]:
    """Guards as the reports have them, and those that the manifest says were dropped.

    The reports of variants speak of the process that recorded, in which none was dropped.
    """
    rows = read_shown(list[_Dropped], manifest.guards.get("dropped", []), [], faults)
    dropped = {(row.kind, row.name): (row.why, row.frozen or "") for row in rows}
    for guard in facts.guards:
        drop = dropped.get((guard.kind, guard.name))
        if drop is None:
            yield guard
        else:
            yield replace(guard, kept=False, why=drop[0], frozen=drop[1])
    reported = {(guard.kind, guard.name) for guard in facts.guards}
    left = Counter(kind for kind, _ in dropped)
    # the record and the manifest may spell the place of one guard in two ways
    left.subtract(guard.kind for guard in facts.guards if not guard.kept)
    for (kind, place), (why, frozen) in dropped.items():
        if (kind, place) not in reported and left[kind] > 0:
            yield GuardFacts(name, kind, place, False, why, frozen)


def _baked(name: str, manifest: Manifest, faults: list[str]) -> Iterator[GuardFacts]:
    """Values from outside that are part of the code; they are compared at each call."""
    for row in read_shown(list[_Baked], manifest.baked, [], faults):
        place = f"{row.owner or ''}.{row.path}".strip(".")
        yield GuardFacts(name, "BAKED_VALUE", place, True, f"compiled for {_baked_text(row.value)}")


def _baked_text(value: Any) -> str:
    row = value if isinstance(value, dict) else {}
    if "hidden" in row:
        return "an environment value; the file stores only a salted hash"
    return f"a function with the code {str(row['code'])[:12]}…" if "code" in row else str(value)


def _outside(manifest: Manifest, call: StoredCall) -> Iterator[OutsideFacts]:
    for name in manifest.external_data:
        yield OutsideFacts("external data", name, "wb.load(..., external_data={...})")
    for name in manifest.missing_names:
        yield OutsideFacts("global", name, "wb.load(..., f_globals={...})")
    for name, parts in call.imports.items():
        place = parts if isinstance(parts, str) else ":".join(filter(None, parts))
        yield OutsideFacts("import", name, place)
    for name, place in manifest.aliases.items():
        yield OutsideFacts("import" if ":" in place else "module", str(name), place)
    if call.function_module:
        yield OutsideFacts("function's module", call.function_module, "imported if it exists")
    for name in call.live_globals:
        yield OutsideFacts("global", name, "read from the function's module")

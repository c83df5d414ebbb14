"""What a compiled function's file says: an `.aot` of ours, or what torch's own function saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.artifacts.archive.aot_container import PAYLOAD, REPORT, SESSION, WEIGHTS, Opened
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
    bytes_of,
    format_leaf_path,
    joined,
    list_gpu_needs,
    list_version_needs,
    report_facts,
    shape_text,
    system_rows,
    titled,
)
from workbench.artifacts.inspect.opcodes import PickleFacts
from workbench.artifacts.inspect.pickles import find_named_texts, find_written_after
from workbench.artifacts.manifest.manifest import Manifest
from workbench.errors import ArtifactError

_RELEASES = ("python", "torch", "toolkit", "triton")
_SYSTEM = {"gpu_name": "gpu"} | {f"{name}_version": name for name in _RELEASES}


def read_artifact_facts(opened: Opened, pickles: Iterable[PickleFacts]) -> Facts:
    """What the manifest, the report and the texts of the payload say."""
    manifest = opened.manifest
    name = str(manifest.contract.get("name") or "function")
    reports, notes = _reports(name, opened)
    told = _told(name, reports, notes)
    leaves = leaves_of(manifest.contract.get("inputs"))
    receiver = _mapping(manifest.contract.get("inputs")).get("receiver")
    paths = [leaf.get("path") for leaf in leaves]
    roots = [path[0] if isinstance(path, list) and path else None for path in paths]
    weights = [leaf for leaf, root in zip(leaves, roots, strict=True) if root and root == receiver]
    constants = [_constant(name, leaf, manifest) for leaf in weights]
    return Facts(
        models=[_model(name, manifest, constants, opened)],
        values=[*inputs(name, (leaf for leaf in leaves if leaf not in weights)), *told.values],
        constants=constants,
        guards=[*_guards(name, manifest, told), *_baked(name, manifest)],
        needs=[
            *list_version_needs(manifest.versions, manifest.built_for),
            *system_rows(manifest.needs),
            *build_rows(manifest.builds),
            *list_gpu_needs(manifest.built_for),
            *([] if manifest.device == "cpu" else [NeedFacts("device", manifest.device)]),
        ],
        outside=list(_outside(manifest)),
        kernels=[
            KernelFacts(name, kernel.name, kernel.registers, kernel.sha256)
            for kernel in (manifest.built_for.kernels if manifest.built_for else ())
        ],
        texts=told.texts or titled(find_named_texts(pickles)),
        reports=reports,
        notes=told.notes,
    )


def _reports(name: str, opened: Opened) -> tuple[Mapping[str, bytes], list[str]]:
    """The reports of a file by what they are of, and what cannot be read.

    Those of variants are of a part and its compile.
    """
    if REPORT in opened.entries and opened.size(REPORT) <= REPORT_LIMIT:
        return {name: opened.raw(REPORT)}, []
    if SESSION not in opened.entries or opened.size(SESSION) > REPORT_LIMIT:
        return {}, ["the file holds no report"]
    from workbench.report.session.session_record import Session  # as for a report

    try:
        session = Session.from_bytes(opened.raw(SESSION), f"of {name}")
        rows = list(session.tables["compiles"])
        named = ((f"{rows[at].function} {rows[at].id}", r) for at, r in session.reports.items())
        return {title: report.to_bytes() for title, report in named}, []
    except ArtifactError as error:
        return {}, [f"the session of {name} cannot be read: {error}"]


def _told(name: str, reports: Mapping[str, bytes], notes: Sequence[str]) -> Facts:
    told = [report_facts(name, content) for name, content in reports.items()]
    texts = ((text.name, text.language, text.text or "") for each in told for text in each.texts)
    return Facts(
        values=[row for each in told for row in each.values],
        guards=[row for each in told for row in each.guards],
        texts=titled(texts),
        notes=[*notes, *(note for each in told for note in each.notes)],
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
            "torch records neither guards nor inputs in a readable form; a file of ours does: "
            "write it with Compiled.save"
        ],
    )


def inputs(model: str, leaves: Iterable[Mapping[str, Any]]) -> Iterator[ValueFacts]:
    """A row for each leaf of a contract's JSON."""
    for leaf in leaves:
        is_tensor = leaf.get("kind") == "tensor"
        shape = shape_text(leaf.get("shape")) if is_tensor else str(leaf.get("value", ""))
        yield ValueFacts(
            model=model,
            direction="input",
            name=format_leaf_path(leaf.get("path")),
            kind=str(leaf.get("type", "")),
            dtype=str(leaf.get("dtype", "")),
            shape=shape,
            device=str(leaf.get("device", "")),
            stride=f"[{joined(leaf.get('stride'))}]" if is_tensor else "",
        )


def leaves_of(contract: Any) -> list[Mapping[str, Any]]:
    """The leaves in the JSON of a contract; none where it is damaged."""
    leaves = _mapping(contract).get("leaves")
    return [leaf for leaf in leaves if isinstance(leaf, dict)] if isinstance(leaves, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _constant(model: str, leaf: Mapping[str, Any], manifest: Manifest) -> ConstantFacts:
    dtype, shape = str(leaf.get("dtype", "")), leaf.get("shape")
    sizes = shape if isinstance(shape, list) else []
    return ConstantFacts(
        model=model,
        name=format_leaf_path(leaf.get("path")),
        kind=str(leaf.get("type", "")).lower(),
        dtype=dtype,
        shape=shape_text(shape),
        size=bytes_of(dtype, sizes),
        place=WEIGHTS if manifest.weights else "the module that it is called on",
    )


def _model(
    name: str, manifest: Manifest, constants: list[ConstantFacts], opened: Opened
) -> ModelFacts:
    inside = opened.size(WEIGHTS) if WEIGHTS in opened.entries else 0
    total = inside or sum(constant.size or 0 for constant in constants)
    place = "in the file" if inside else "with the module" if constants else "none"
    target = "" if manifest.target in ("host", "cpu") else manifest.target
    return ModelFacts(name, manifest.device, PAYLOAD, place, len(constants), total, target=target)


def _guards(name: str, manifest: Manifest, told: Facts) -> Iterator[GuardFacts]:
    """Guards as the reports have them, and those that the manifest says were dropped.

    The reports of a session speak of the process that recorded, in which none was dropped.
    """
    listed = manifest.guards.get("dropped")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    dropped = {
        (str(r.get("kind", "")), str(r.get("name", ""))): (
            str(r.get("why", "")),
            str(r.get("frozen") or ""),
        )
        for r in rows
    }
    for guard in told.guards:
        drop = dropped.get((guard.kind, guard.name))
        if drop is None:
            yield guard
        else:
            yield replace(guard, kept=False, why=drop[0], frozen=drop[1])
    known = {(guard.kind, guard.name) for guard in told.guards}
    left = Counter(kind for kind, _ in dropped)
    # the record and the manifest may spell the place of one guard in two ways
    left.subtract(guard.kind for guard in told.guards if not guard.kept)
    for (kind, place), (why, frozen) in dropped.items():
        if (kind, place) not in known and left[kind] > 0:
            yield GuardFacts(name, kind, place, False, why, frozen)


def _baked(name: str, manifest: Manifest) -> Iterator[GuardFacts]:
    """Values from outside that are part of the code; they are compared at each call."""
    for row in manifest.baked:
        if isinstance(row, dict):
            path = format_leaf_path(row.get("path"))
            place = f"{row.get('owner', '')}.{path}".strip(".")
            yield GuardFacts(name, "BAKED_VALUE", place, True, f"compiled for {_baked_text(row)}")


def _baked_text(row: Mapping[str, Any]) -> str:
    value = row.get("value")
    known = value if isinstance(value, dict) else {}
    if "hidden" in known:
        return "a value of the environment, of which the file has a salted hash alone"
    return f"a function with the code {str(known['code'])[:12]}…" if "code" in known else str(value)


def _outside(manifest: Manifest) -> Iterator[OutsideFacts]:
    for name in manifest.external_data:
        yield OutsideFacts("external data", name, "wb.load(..., external_data={...})")
    for name in manifest.missing_names:
        yield OutsideFacts("global", name, "wb.load(..., f_globals={...})")
    for name, place in _mapping(manifest.contract.get("imports")).items():
        yield OutsideFacts("import", str(name), _place_text(place))
    for name, place in manifest.aliases.items():
        yield OutsideFacts("import" if ":" in place else "module", str(name), place)
    if module := manifest.contract.get("function_module"):
        yield OutsideFacts("function's module", str(module), "imported where it exists")
    live = manifest.contract.get("live_globals")
    for name in live if isinstance(live, list) else ():
        yield OutsideFacts("global", str(name), "read from the function's module")


def _place_text(place: Any) -> str:
    return ":".join(str(part) for part in place if part) if isinstance(place, list) else str(place)

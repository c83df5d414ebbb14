"""What a compiled function's file says: an `.aot` of ours, or what torch's own function saves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.artifacts.archive.container import PAYLOAD, REPORT, WEIGHTS, Opened
from workbench.artifacts.inspect import requirements
from workbench.artifacts.inspect.facts import (
    REPORT_LIMIT,
    Facts,
    Text,
    bytes_of,
    joined,
    path_text,
    shape_text,
)
from workbench.artifacts.inspect.opcodes import PickleFacts
from workbench.artifacts.inspect.pickles import named_texts, written_after
from workbench.artifacts.inspect.reported import ReportFacts, report_facts
from workbench.artifacts.inspect.rows import (
    ConstantFacts,
    GuardFacts,
    KernelFacts,
    ModelFacts,
    NeedFacts,
    OutsideFacts,
    ValueFacts,
)
from workbench.artifacts.manifest.manifest import Manifest

_SYSTEM = {
    "python_version": "python",
    "torch_version": "torch",
    "toolkit_version": "toolkit",
    "triton_version": "triton",
    "gpu_name": "gpu",
}


def artifact_facts(opened: Opened, pickles: Iterable[PickleFacts]) -> Facts:
    """What the manifest, the report and the texts of the payload say."""
    manifest = opened.manifest
    name = str(manifest.contract.get("name") or "function")
    is_small = REPORT in opened.entries and opened.size(REPORT) <= REPORT_LIMIT
    reports = {name: opened.raw(REPORT)} if is_small else {}
    told = report_facts(name, reports.get(name))
    leaves = list(_leaves(manifest.contract.get("inputs")))
    receiver = _mapping(manifest.contract.get("inputs")).get("receiver")
    weights = [leaf for leaf in leaves if receiver and _root(leaf) == receiver]
    constants = [_constant(name, leaf, manifest) for leaf in weights]
    return Facts(
        models=[_model(name, manifest, constants, opened)],
        values=[*inputs(name, (leaf for leaf in leaves if leaf not in weights)), *told.outputs],
        constants=constants,
        guards=[*_guards(name, manifest, told), *_baked(name, manifest)],
        needs=[
            *requirements.version_needs(manifest.versions, manifest.built_for),
            *requirements.system_rows(manifest.needs),
            *requirements.build_rows(manifest.builds),
            *requirements.gpu_needs(manifest.built_for),
            *([] if manifest.device == "cpu" else [NeedFacts("device", manifest.device)]),
        ],
        outside=list(_outside(manifest)),
        kernels=list(_kernels(name, manifest)),
        texts=told.texts or code_texts(pickles),
        reports=reports,
        notes=told.notes,
    )


def torch_file_facts(content: bytes, pickles: Iterable[PickleFacts]) -> Facts:
    """Facts from the texts inside a pickle of torch; what it checks is not written as text."""
    system = written_after(content, _SYSTEM)
    return Facts(
        models=[ModelFacts("function", "", "", "given by the caller", 0, 0)],
        needs=[
            NeedFacts(_SYSTEM[key], value, "as torch recorded it") for key, value in system.items()
        ],
        texts=code_texts(pickles),
        notes=[
            "torch records neither guards nor inputs in a readable form; a file of ours does: "
            "write it with Compiled.save"
        ],
    )


def code_texts(pickles: Iterable[PickleFacts]) -> list[Text]:
    """The generated code among the texts of pickles, each name once."""
    found: dict[str, Text] = {}
    for name, language, text in named_texts(pickles):
        title, number = name, 1
        while title in found and found[title].text != text:
            number += 1
            title = f"{name} ({number})"
        found[title] = Text(title, language, len(text.encode()), text)
    return list(found.values())


def inputs(model: str, leaves: Iterable[Mapping[str, Any]]) -> Iterator[ValueFacts]:
    """A row for each leaf of a contract's JSON."""
    for leaf in leaves:
        is_tensor = leaf.get("kind") == "tensor"
        shape = shape_text(leaf.get("shape")) if is_tensor else str(leaf.get("value", ""))
        yield ValueFacts(
            model=model,
            direction="input",
            name=path_text(leaf.get("path")),
            kind=str(leaf.get("type", "")),
            dtype=str(leaf.get("dtype", "")),
            shape=shape,
            device=str(leaf.get("device", "")),
            stride=f"[{joined(leaf.get('stride'))}]" if is_tensor else "",
        )


def _leaves(inputs: Any) -> Iterator[Mapping[str, Any]]:
    found = _mapping(inputs).get("leaves")
    yield from (
        (leaf for leaf in found or () if isinstance(leaf, dict)) if isinstance(found, list) else ()
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _root(leaf: Mapping[str, Any]) -> Any:
    path = leaf.get("path")
    return path[0] if isinstance(path, list) and path else None


def _constant(model: str, leaf: Mapping[str, Any], manifest: Manifest) -> ConstantFacts:
    dtype, shape = str(leaf.get("dtype", "")), leaf.get("shape")
    sizes = shape if isinstance(shape, list) else []
    return ConstantFacts(
        model=model,
        name=path_text(leaf.get("path")),
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


def _kernels(model: str, manifest: Manifest) -> Iterator[KernelFacts]:
    for kernel in manifest.built_for.kernels if manifest.built_for else ():
        yield KernelFacts(model, kernel.name, kernel.registers, kernel.sha256)


def _guards(name: str, manifest: Manifest, told: ReportFacts) -> Iterator[GuardFacts]:
    """Guards as the report has them; without one, those that the manifest says were dropped."""
    if told.guards:
        yield from told.guards
        return
    dropped = manifest.guards.get("dropped")
    for row in dropped if isinstance(dropped, list) else ():
        if isinstance(row, dict):
            kind, place, why = (str(row.get(key, "")) for key in ("kind", "name", "why"))
            yield GuardFacts(name, kind, place, False, why)


def _baked(name: str, manifest: Manifest) -> Iterator[GuardFacts]:
    """Values from outside that are part of the code; they are compared at each call."""
    for row in manifest.baked:
        if isinstance(row, dict):
            path = path_text(row.get("path"))
            place = f"{row.get('owner', '')}.{path}".strip(".")
            yield GuardFacts(name, "BAKED_VALUE", place, True, f"compiled for {row.get('value')}")


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

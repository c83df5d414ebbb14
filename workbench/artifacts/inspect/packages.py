"""What a `.pt2` with compiled code says: ours by its manifest, torch's by its C++ and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from workbench.artifacts.archive.package_container import CODE, OpenedPackage, decode_report
from workbench.artifacts.inspect.artifact_rows import (
    ConstantFacts,
    GuardFacts,
    ModelFacts,
    NeedFacts,
    OutsideFacts,
    ValueFacts,
    VariantFacts,
)
from workbench.artifacts.inspect.file_facts import (
    REPORT_LIMIT,
    Facts,
    Text,
    build_rows,
    report_facts,
    shape_text,
    system_rows,
    torch_row,
)
from workbench.artifacts.inspect.functions import list_inputs, read_shown
from workbench.artifacts.manifest.package_manifest import (
    PackagedConstant,
    PackagedModel,
    PackageManifest,
)
from workbench.device_kinds import SOURCE_LANGUAGES
from workbench.errors import ArtifactError

_LANGUAGES = {**SOURCE_LANGUAGES, ".cpp": "cpp", ".h": "cpp", ".py": "python", ".ptx": "ptx"}
_TEXT_LIMIT, _TEXTS_LIMIT = 8 << 20, 32 << 20
_PLACES = {
    "inside": "inside the library",
    "beside": "beside the library, mapped",
    "later": "given later by update_weights",
}


def read_package_facts(package: OpenedPackage, manifest: PackageManifest) -> Facts:
    """What the manifest of a package of ours says, and the sources that travel with it."""
    reports, notes = _reports(package, manifest)
    texts = read_member_texts(package)
    for name, content in reports.items():
        if manifest.model(name).device != "cpu":  # kernels of a GPU have their sources there only
            facts = report_facts(name, content)
            contents = {text.text for text in texts}
            texts += [t for t in facts.texts if t.language == "triton" and t.text not in contents]
            notes += facts.notes
    return Facts(
        models=[_model(model) for model in manifest.models],
        variants=[_variant(model, notes) for model in manifest.models if manifest.are_variants],
        values=[row for model in manifest.models for row in _values(model, notes)],
        constants=[_constant(m, constant) for m in manifest.models for constant in m.constants],
        guards=[
            GuardFacts(model.name, "SHAPE", text, True, "checked at each call")
            for model in manifest.models
            for text in read_shown(list[str], model.contract.get("guards", []), [], notes)
        ],
        needs=[
            torch_row(manifest.versions.torch),
            *system_rows(manifest.needs),
            *build_rows({m.isa: None for m in manifest.models if m.isa}),
            *_device_needs(package),
            *(
                NeedFacts("operator", name, f"custom operator called by {model.name}")
                for model in manifest.models
                for name in model.operators
            ),
        ],
        outside=[
            OutsideFacts("weight", constant.fqn, "Package.update_weights({...})")
            for model in manifest.models
            if model.weights == "later"
            for constant in model.constants
        ],
        texts=texts,
        reports=reports,
        notes=list(dict.fromkeys(notes)),
    )


def read_torch_package_facts(package: OpenedPackage) -> Facts:
    """What torch's metadata and generated C++ say of a package that it wrote itself."""
    texts = read_member_texts(package)
    models: dict[str, list[Text]] = {
        model: [] for model in sorted({*map(_model_of, package.entries)} - {""})
    }
    for text in texts:
        if (model := _model_of(text.name)) in models:
            models[model].append(text)
    constants: list[ConstantFacts] = []
    values: list[ValueFacts] = []
    for model, sources in models.items():
        for text in sources:
            constants += read_constants(model, text.text or "")
            values += read_values(model, text.text or "")
    return Facts(
        models=[_torch_model(package, model, constants) for model in models],
        values=values,
        constants=constants,
        needs=_device_needs(package),
        texts=texts,
        notes=[
            "written by torch itself: the package does not check inputs or record the torch release"
        ],
    )


def _model_of(member: str) -> str:
    parts = member.removeprefix(CODE).split("/")
    return parts[0] if member.startswith(CODE) and len(parts) > 1 else ""


def read_member_texts(package: OpenedPackage) -> list[Text]:
    """The sources among the members; big ones by name only."""
    left, texts = _TEXTS_LIMIT, []
    for name in package.entries:
        if language := _LANGUAGES.get(PurePosixPath(name).suffix):
            texts.append(read_member_text(package, name, language, min(left, _TEXT_LIMIT)))
            left -= 0 if texts[-1].text is None else texts[-1].size
    return texts


def read_member_text(package: OpenedPackage, name: str, language: str, limit: int) -> Text:
    """A member as text, by name only where it is bigger than the limit."""
    size = package.size(name)
    text = package.raw(name).decode("utf-8", "replace") if size <= limit else None
    return Text(name, language, size, text)


def _device_needs(package: OpenedPackage) -> list[NeedFacts]:
    facts = package.read_metadata()
    names = {
        "AOTI_CPU_ISA": ("instructions", "the instruction set, as torch names it"),
        "AOTI_MACHINE": ("processor", ""),
        "AOTI_PLATFORM": ("system", ""),
        "AOTI_DEVICE_KEY": ("device", ""),
        "AOTI_COMPUTE_CAPABILITY": ("gpu", "its compute capability"),
    }
    is_ours = package.manifest is not None
    skipped = {"AOTI_CPU_ISA", "AOTI_MACHINE", "AOTI_PLATFORM"} if is_ours else set()
    return [
        NeedFacts(names[key][0], value, names[key][1])
        for key, value in facts.items()
        if key in names and key not in skipped
    ]


def _reports(
    package: OpenedPackage, manifest: PackageManifest
) -> tuple[dict[str, bytes], list[str]]:
    reports: dict[str, bytes] = {}
    notes: list[str] = []
    for model in manifest.models:
        if model.report is None:
            continue
        if package.size(model.report) > REPORT_LIMIT:
            notes.append(f"the report of {model.name} is too large to read here")
            continue
        try:
            reports[model.name] = decode_report(package.raw(model.report))
        except ArtifactError as error:
            notes.append(f"the report of {model.name} cannot be read: {error}")
    return reports, notes


def _model(model: PackagedModel) -> ModelFacts:
    return ModelFacts(
        name=model.name,
        device=model.device,
        library=model.library,
        weights=_PLACES.get(model.weights, model.weights),
        constants=len(model.constants),
        bytes=sum(constant.size for constant in model.constants),
        needs_proxy=model.needs_proxy,
        bucket=", ".join(f"{name}={size}" for name, size in (model.bucket or {}).items()),
    )


def _variant(model: PackagedModel, faults: list[str]) -> VariantFacts:
    tensors = [row for row in list_inputs(model.name, model.contract, faults) if row.dtype]
    return VariantFacts(
        name=model.name,
        device=model.device,
        made_for=model.made_for,
        torch=model.torch,
        inputs=", ".join(f"{row.name} {row.dtype}{row.shape}" for row in tensors),
        weights=_PLACES.get(model.weights, model.weights),
        bytes=sum(constant.size for constant in model.constants),
    )


def _values(model: PackagedModel, faults: list[str]) -> Iterator[ValueFacts]:
    yield from list_inputs(model.name, model.contract, faults)
    for number, output in enumerate(model.outputs):
        yield ValueFacts(
            model=model.name,
            direction="output",
            name=f"output {number}",
            kind=output.type,
            dtype=output.dtype,
            shape=shape_text(output.shape),
            device=model.device,
        )


def _constant(model: PackagedModel, constant: PackagedConstant) -> ConstantFacts:
    place = _PLACES.get(model.weights, model.weights)
    return ConstantFacts(
        model=model.name,
        name=", ".join((constant.fqn, *constant.aliases)),
        kind=constant.kind,
        dtype=constant.dtype,
        shape=shape_text(constant.shape),
        size=constant.size,
        place=f"{constant.member} at {constant.offset}" if constant.member else place,
    )


def _torch_model(package: OpenedPackage, model: str, constants: list[ConstantFacts]) -> ModelFacts:
    mine = [constant for constant in constants if constant.model == model]
    libraries = [n for n in package.entries if _model_of(n) == model and n.endswith(".so")]
    beside = any(_model_of(n) == model and n.endswith(".blob") for n in package.entries)
    return ModelFacts(
        name=model,
        device=package.read_metadata().get("AOTI_DEVICE_KEY", ""),
        library=libraries[0] if libraries else "",
        weights=_PLACES["beside" if beside else "inside"],
        constants=len(mine),
        bytes=sum(constant.size or 0 for constant in mine),
        needs_proxy=any(_model_of(n) == model and "proxy" in n for n in package.entries),
    )


_FIELD = re.compile(r"^ {4}(constants|inputs|outputs)_info_\[(\d+)\]\.(\w+) = (.*);$", re.MULTILINE)
_CHECK = re.compile(r"static void check_input_(\d+)\((.*?)^\}", re.MULTILINE | re.DOTALL)
_DTYPE = re.compile(r"expected_dtype = aoti_torch_dtype_(\w+)\(\)")
_DEVICE = re.compile(r"expected: \" << \w+ << \"\d+\((\w+)\)")
_STATIC = re.compile(r"if \((\d+) != \w+_(size|stride)\[(\d+)\]\)")
_BOUND = re.compile(r"if \(\w+_size\[(\d+)\] ([<>]) (\d+)\)")
_KIND = re.compile(r"ConstantType::(\w+)")


def read_constants(model: str, source: str) -> Iterator[ConstantFacts]:
    """The constants of a model from the constructor that torch writes."""
    for row in _fields(source, "constants").values():
        kind = _KIND.search(row.get("type", ""))
        size = row.get("data_size", "")
        yield ConstantFacts(
            model=model,
            name=_text(row.get("original_fqn") or row.get("name", "")),
            kind=kind[1].lower() if kind else "constant",
            dtype=row.get("dtype", "").removeprefix("cached_torch_dtype_"),
            shape=f"[{row.get('shape', '').strip('{}')}]",
            size=int(size) if size.isdigit() else None,
            place="",
        )


def read_values(model: str, source: str) -> Iterator[ValueFacts]:
    """Inputs with what torch could check of them (it does not unless told to), and outputs."""
    checks = {int(match[1]): match[2] for match in _CHECK.finditer(source)}
    for index, row in _fields(source, "inputs").items():
        body = checks.get(index, "")
        dtype, device = _DTYPE.search(body), _DEVICE.search(body)
        yield ValueFacts(
            model=model,
            direction="input",
            name=_text(row.get("name", "")),
            kind="Tensor",
            dtype=dtype[1] if dtype else "",
            shape=_shape(body),
            device=device[1] if device else "",
            stride=_sizes({int(i): n for n, what, i in _STATIC.findall(body) if what == "stride"}),
        )
    for row in _fields(source, "outputs").values():
        yield ValueFacts(model, "output", _text(row.get("name", "")), "Tensor", "", "", "")


def _shape(body: str) -> str:
    sizes = {int(i): n for n, what, i in _STATIC.findall(body) if what == "size"}
    bounds: dict[int, dict[str, str]] = {}
    for index, sign, value in _BOUND.findall(body):
        bounds.setdefault(int(index), {})[sign] = value
    for index, ends in bounds.items():
        sizes.setdefault(index, f"{ends.get('<', '')}..{ends.get('>', '')}")
    return _sizes(sizes)


def _sizes(sizes: dict[int, str]) -> str:
    if not sizes or max(sizes) > 64:
        return ""
    return f"[{', '.join(sizes.get(index, 'any') for index in range(max(sizes) + 1))}]"


def _fields(source: str, what: str) -> dict[int, dict[str, str]]:
    by_index: dict[int, dict[str, str]] = {}
    for kind, index, name, value in _FIELD.findall(source):
        if kind == what:
            by_index.setdefault(int(index), {})[name] = value
    return by_index


def _text(value: str) -> str:
    return value.strip('"')

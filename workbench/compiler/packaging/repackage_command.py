"""How a package is made again: the call that it was made with, as text."""

from __future__ import annotations

import json

from workbench.artifacts.archive.package_container import OpenedPackage, decode_report
from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.report import Request
from workbench.report.record import Report


def repackage_command(path: str, package: OpenedPackage) -> str:
    """A sentence with the call of `workbench.package` that makes the file on this torch."""
    start = (
        f"{path} is a package: example inputs are no part of it, so it cannot be made again from "
        "the file alone. "
    )
    manifest = package.manifest
    if manifest is None:
        return f"{start}Package the model with wb.package(model, args, path=...)."
    calls = [f"  {_call(package, model, path)}" for model in manifest.models]
    made = f"It was made on torch {manifest.versions.torch} with:"
    return "\n".join([f"{start}{made}", *calls])


def _call(package: OpenedPackage, model: PackagedModel, path: str) -> str:
    asked = _request(package, model)
    options = "".join(f"{json.dumps(name)}: {value}, " for name, value in asked.options)
    parts = [
        f"wb.package({asked.name or 'model'}, args, path={path!r}",
        "" if asked.dynamic_shapes is None else f"dynamic_shapes={asked.dynamic_shapes}",
        "" if not options else "options={" + options.removesuffix(", ") + "}",
        "" if asked.mode is None else f"mode={asked.mode!r}",
        "" if model.weights == "inside" else f"weights={model.weights!r}",
    ]
    inputs = ", ".join(asked.inputs)
    return f"{', '.join(part for part in parts if part)})  # {model.name}: {inputs}"


def _request(package: OpenedPackage, model: PackagedModel) -> Request:
    if model.report is None:
        return Request(name=model.name)
    return Report.from_bytes(decode_report(package.raw(model.report))).request

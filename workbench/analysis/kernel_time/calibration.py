"""Parameters of the calibrated model by GPU generation, with the GPUs that they were fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from workbench.plain_data import parse_toml
from workbench.specs import Catalogue, Gpu

FILE = "calibration.toml"
"""Where the parameters stand, in the data of `workbench.specs`."""


@dataclass(frozen=True)
class Calibration:
    """The parameters of one generation of GPUs.

    `values` are by name, "product.latency_us": a share of a peak, elements a clock, or
    microseconds, as the name says. `errors` are by kind of kernel the relative error within which
    four of five kernels lay that the fit had not seen; "chosen product" and "chosen convolution"
    are of those whose kernel was not known but chosen. `kernels` names those that
    libraries started in the traces, by dtype.
    """

    generation: str  # as in `Gpu.architecture`
    devices: tuple[str, ...]  # targets that were measured
    source: str
    date: str
    values: Mapping[str, float]
    errors: Mapping[str, float]
    kernels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def value(self, *names: str) -> float:
        """The first of these that there is; raises `KeyError` where there is none."""
        for name in names:
            if name in self.values:
                return self.values[name]
        raise KeyError(names)


@dataclass(frozen=True)
class Choice:
    """A calibration for a GPU; `reason` says why it is not of its own generation, None if it is."""

    calibration: Calibration
    reason: str | None


@cache
def load_calibrations() -> tuple[Calibration, ...]:
    """Every generation that was fitted."""
    content = resources.files("workbench.specs").joinpath("data", FILE).read_bytes()
    return tuple(build_calibration(name, table) for name, table in parse_toml(content).items())


def build_calibration(generation: str, table: Mapping[str, Any]) -> Calibration:
    """A calibration from its table in the file."""
    return Calibration(
        generation=generation,
        devices=tuple(table["devices"]),
        source=str(table["source"]),
        date=str(table["date"]),
        values=dict(_flatten(table["values"])),
        errors={str(kind): float(error) for kind, error in table["errors"].items()},
        kernels={str(of): tuple(names) for of, names in table.get("kernels", {}).items()},
    )


def _flatten(table: Mapping[str, Any], above: str = "") -> list[tuple[str, float]]:
    pairs: list[tuple[str, float]] = []
    for name, value in table.items():
        path = f"{above}.{name}" if above else str(name)
        pairs += _flatten(value, path) if isinstance(value, Mapping) else [(path, float(value))]
    return pairs


def choose_calibration(gpu: Gpu, calibrations: tuple[Calibration, ...] | None = None) -> Choice:
    """The calibration of a GPU's generation, or the nearest of the same vendor, or any."""
    loaded = load_calibrations() if calibrations is None else calibrations
    for calibration in loaded:
        if calibration.generation == gpu.architecture:
            is_own = gpu.name in calibration.devices
            note = None if is_own else f"fitted to {_list_devices(calibration)}"
            return Choice(calibration, note)
    catalogue = Catalogue.built_in()
    nearest = min(loaded, key=lambda one: _distance(gpu, catalogue[one.devices[0]]))
    return Choice(
        nearest,
        f"no {gpu.architecture} GPU was measured: modelled like {_list_devices(nearest)}, error "
        "not measured",
    )


def _list_devices(calibration: Calibration) -> str:
    catalogue = Catalogue.built_in()
    return " and ".join(catalogue[name].title for name in calibration.devices)


def _distance(gpu: Gpu, measured: Gpu) -> tuple[bool, int]:
    return gpu.vendor != measured.vendor, abs(
        10 * (gpu.major - measured.major) + gpu.minor - measured.minor
    )

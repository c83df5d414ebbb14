"""GPUs for tests: what matters is that their answers differ."""

from __future__ import annotations

from workbench.compiler.machine_code.device import Device
from workbench.specs import Catalogue

H100 = Device(Catalogue.built_in()["h100"])
MI300X = Device(Catalogue.built_in()["mi300x"])

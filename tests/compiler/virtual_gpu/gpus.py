"""GPUs for tests: what matters is that their answers differ."""

from __future__ import annotations

from workbench.specs import Catalogue
from workbench.specs.device import Device

H100 = Device(Catalogue.built_in()["h100"])
MI300X = Device(Catalogue.built_in()["mi300x"])

"""Every private name of torch that the workbench touches, with what it is for.

Nothing of torch._dynamo or torch._inductor is imported when this module is: a name is looked up
when it is used. Checked on torch 2.13.0 unless a row says otherwise. A missing name raises
`TorchNameMissing` (or is reported as a missing capability), never an AttributeError.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from workbench.errors import TorchNameMissing


@dataclass(frozen=True)
class Name:
    """One private name: `module:qualified.name`, why we need it, the releases it was checked on."""

    target: str
    used_for: str
    checked_on: str = "2.13.0"

    @property
    def module(self) -> str:
        """The module that defines it."""
        return self.target.partition(":")[0]

    @property
    def attribute(self) -> str:
        """The qualified name inside the module; empty for the module itself."""
        return self.target.partition(":")[2]

    def find(self) -> Any | None:
        """The object, or None when this release of torch does not have it."""
        try:
            found: Any = importlib.import_module(self.module)
            for part in self.attribute.split(".") if self.attribute else ():
                found = getattr(found, part)
        except (ImportError, AttributeError):
            return None
        return found

    def get(self) -> Any:
        """The object; raises `TorchNameMissing` when this release of torch does not have it."""
        found = self.find()
        if found is None:
            import torch

            raise TorchNameMissing(
                f"torch {torch.__version__} has no {self.target.replace(':', '.')}, which the "
                f"workbench needs for {self.used_for}. Checked on torch {self.checked_on}: use "
                "that release, or report this one."
            )
        return found


DYNAMO = Name("torch._dynamo:", "resetting and configuring capture")
DYNAMO_CONFIG = Name("torch._dynamo.config:", "options of capture")
INDUCTOR_CONFIG = Name("torch._inductor.config:", "options of code generation")
FUNCTORCH_CONFIG = Name("torch._functorch.config:", "options of AOTAutograd")

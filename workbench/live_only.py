"""What stands for code or for a state of this process, which neither a copy nor a pickle holds."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from workbench.errors import UsageError


class LiveOnly:
    """Refuses pickle, and so copies too, with what to do in its place."""

    instead: ClassVar[str] = "Write it with .save(path), and load that where it is needed."

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Raise `UsageError`."""
        shown = getattr(self, "name", None) or type(self).__name__
        raise UsageError(
            f"{shown} ({type(self).__name__}) lives in this process, and pickle and copy cannot "
            f"hold it. {self.instead}"
        )

"""What stands for code or for a state of this process, which neither a copy nor a pickle holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from workbench.errors import NO_SOURCE, NoModuleError, UsageError


class LiveOnly:
    """Refuses pickle, and so copies too, with what to do in its place."""

    instead: ClassVar[str] = "Save it with .save(path), and load that file."

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Raise `UsageError`."""
        name, kind = _name_of(self), type(self).__name__
        title = kind if name == kind else f"{name} ({kind})"
        raise UsageError(
            f"{title} lives in this process and cannot be pickled or copied. {self.instead}"
        )


class LivePart(LiveOnly):
    """A part of such a thing, which nothing can save by itself."""

    instead = "Save its compilation, and load that file."


class CompiledCode(LiveOnly):
    """Is called like a function or model, and has no Python inside that a tool could take.

    `torch.export.export`, `torch.fx.symbolic_trace` and `torch.jit.trace_module` look at the class
    before they touch anything, and say in words of their own that they expected another one.
    """

    def __prepare_scriptable__(self) -> NoReturn:
        """Tell torch.jit.script that there is no source here."""
        raise UsageError(NO_SOURCE.format(name=_name_of(self)))

    if not TYPE_CHECKING:  # for mypy every misspelt attribute would exist

        def __getattr__(self, name: str) -> NoReturn:
            """Say what a tool for modules gets in its place; `hasattr` is False as ever."""
            from torch.nn import Module

            is_of_modules = hasattr(Module, name) or name in Module.__annotations__
            if name.startswith("__") or not is_of_modules:
                object.__getattribute__(self, name)  # raises, for a property what that raised
            title = _name_of(self)
            raise NoModuleError(
                f"The compiled {title} is not a torch.nn.Module and has no {name}. To export, "
                "convert, quantize or change a model, use the eager function or module."
            )


def _name_of(handle: Any) -> str:
    name = getattr(handle, "name", None) or getattr(handle, "__name__", None)
    return name or type(handle).__name__

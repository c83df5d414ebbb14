"""The errors that the workbench raises; each message says what was wrong and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.report.tables import ReportBase


__all__ = [
    "ArtifactError",
    "BudgetError",
    "CaptureError",
    "ContractError",
    "ExpectationError",
    "RunError",
    "TrustError",
    "UsageError",
    "WorkbenchError",
]


_COMPILER_OUTPUT = re.compile(r"C\+\+ compile error.*?\n\s*Output:\s*\n(.*)", re.DOTALL)


def suggest(word: object, known: Iterable[object]) -> str:
    """Which of the known names was meant, as a sentence to add; empty where none is near."""
    near = difflib.get_close_matches(str(word), [str(one) for one in known], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class WorkbenchError(Exception):
    """Base of everything the workbench raises.

    `report` is the record of a failed compilation, a `Report`, or None.

    Examples
    --------
    >>> try:
    ...     compiled(x[:3])
    ... except wb.WorkbenchError as error:
    ...     print(f"{type(error).__name__}: {error}")
    ContractError: This call does not fit what f was compiled for:
      - x: expected size 64 at dimension 0, got 3
    Pass inputs that fit, or compile again for these.
    """

    report: ReportBase | None = None

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.add_note(f"Causes and fixes: {self.help_page}")

    @property
    def help_page(self) -> str:
        """The section of the documentation on its class, or on the public class above it."""
        kinds = (kind.__name__ for kind in type(self).__mro__)
        name = next(name for name in kinds if name in __all__)
        return f"docs/pages/guide/troubleshooting.md#{name.lower()}"


class UsageError(WorkbenchError):
    """An argument, option or flag that cannot be honoured."""


class WrongCall(UsageError, TypeError):
    """A function was given an argument that it does not have, or lacks one that it needs."""


class NoModuleError(UsageError, AttributeError):
    """A handle that is no `torch.nn.Module` was asked for what only modules have."""


class CaptureError(WorkbenchError):
    """The callable could not be captured in one graph, or its graph could not be compiled."""


class RefusedCall(CaptureError):
    """An operator refused its inputs, or the program raised, while torch captured the call.

    `parts`: the name of the function, what was refused, the lines of the program, and what became
    of the call without the compiler: "fails", the device that it runs on, or "" where not tried.
    """

    def __init__(self, name: str, refused: str, where: str = "", eager: str = ""):
        self.parts = (name, refused, where, eager)
        if eager == "fails":
            head = f"{name} fails on these inputs: {refused}."
            end = "The call fails the same way in eager; fix that first."
        elif eager:
            head = f"torch cannot compile {name}. During tracing, {refused}."
            end = (
                f"In eager the call runs here, on {eager}. wb.explain(fn, args) lists what torch "
                "cannot compile."
            )
        else:
            head = f"torch cannot compile {name}. During tracing, {refused}."
            end = "Call it in eager: if it also fails there, fix that first."
        super().__init__("\n".join(part for part in (head, where, end) if part))


class ContractError(WorkbenchError):
    """A call does not fit what was compiled: inputs, grad mode, autocast, mode or globals."""


class ArtifactError(WorkbenchError):
    """A file is missing, damaged, foreign, or does not fit this machine."""


class TrustError(ArtifactError):
    """A file would run code and nobody vouched for it."""


class BudgetError(WorkbenchError):
    """A round trip takes longer than was required, or its outputs differ from eager's."""


class ExpectationError(WorkbenchError, AssertionError):
    """A program compiled otherwise than was expected: more breaks, recompiles or kernels."""


class RunError(WorkbenchError, RuntimeError):
    """Compiled code failed while it ran, on inputs that fit the contract.

    What torch raised is its `__cause__`; it is a RuntimeError, as most of what torch raises is.
    """


NO_SOURCE = (
    "torch.jit.script needs Python source, which the compiled {name} does not have. Script the "
    "eager {name}."
)


class TorchNameMissing(WorkbenchError):
    """A private name of torch that a feature needs does not exist in this release."""


def wrap_failed_call(name: str, error: BaseException) -> RunError:
    """What to raise, from `error`, where the compiled code of `name` raised it."""
    reason = read_first_line(error).rstrip(".")
    return RunError(
        f"The compiled {name} failed while it ran: {reason}. Run eager on the same inputs to find "
        "the line."
    )


def describe_error(error: BaseException) -> str:
    """The class of an error and what it says, in a form that a sentence can hold.

    Of a failed C++ compilation that is the compiler's first error without its command, of a bare
    assertion the line that does not hold; of an error without words the class alone.
    """
    words = str(error).strip()
    output = _COMPILER_OUTPUT.search(words)
    if output is not None:
        lines = output[1].splitlines() or [""]
        words = next((line for line in lines if "error:" in line), lines[0]).strip()
    if not words and isinstance(error, AssertionError):
        import traceback  # which every import of the package would wait for

        frames = traceback.extract_tb(error.__traceback__)
        words = (frames[-1].line or "") if frames else ""
    return f"{type(error).__name__}: {words}".removesuffix(": ")


def read_first_line(error: BaseException) -> str:
    """The first line of what an error says, or its class where it says nothing.

    With the next one where the first only announces it: "This call does not fit:".
    """
    first, _, rest = str(error).strip().partition("\n")
    if first.endswith(":") and rest:
        first = f"{first} {rest.strip().partition(chr(10))[0].strip()}"
    return first or describe_error(error)

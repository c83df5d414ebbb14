"""What a program may compile to, checked in a script and in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.arguments import checked

if TYPE_CHECKING:
    from workbench.worlds.expectations.expectation import Expectation


__all__ = ["expect"]


@checked
def expect(x: Any, **limits: Any) -> Expectation:
    """What a compilation may come to: raises with all that is otherwise.

    `breaks`, `recompiles`, `fallbacks`, `graphs` and `kernels` are counts, `peak_bytes` is counted
    as `memory` does, `compile_s` was measured. A number is the most that may be; a text has a
    comparison, such as `">= 1"` or `"<= 1.5 GB"`. The result has a method for each, so that limits
    can be stated one by one. In tests: the marker and the fixture `compiles` of pytest.

    Parameters
    ----------
    x
        What `aot_compile`, `package`, `load`, `inspect` or `explain` returned, a report, a session,
        or the path of a file.

    Raises
    ------
    ExpectationError
        Something is more, or less, than expected, or the record cannot tell; with the places.
    UsageError
        A name or a limit that there is not.

    Examples
    --------
    >>> _ = wb.expect(compiled, breaks=0, kernels="<= 12").peak_bytes("<= 1 MB")
    >>> wb.expect(compiled).kernels(0)
    Traceback (most recent call last):
    workbench.errors.ExpectationError: f:
      kernels: 1 (counted), at most 0 expected
        - k0 (cpp_fused_add_mul_relu_0)
    """
    from workbench.artifacts.records.report_in import record_of
    from workbench.worlds.expectations.expectation import Expectation

    return Expectation(record_of(x)).all(limits)

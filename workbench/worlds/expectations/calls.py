"""What a program may compile to, checked in a script and in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.arguments import checked

if TYPE_CHECKING:
    from workbench.worlds.expectations.expectation import Expectation


__all__ = ["expect"]


@checked
def expect(x: Any, **limits: Any) -> Expectation:
    """Check a compilation against limits, and raise a single error that lists all violations.

    `breaks`, `recompiles`, `fallbacks`, `graphs` and `kernels` are counts. `peak_bytes` is counted
    as in `memory`, and `compile_s` is measured. A number sets a maximum. A string is a comparison,
    such as `">= 1"` or `"<= 1.5 GB"`. To check limits one at a time, call the result's method for
    each. In tests, use the `compiles` pytest marker and fixture.

    Parameters
    ----------
    x
        The result of `aot_compile`, `package`, `load`, `inspect` or `explain`, a report, a session,
        or the path of a file saved from one of these.

    Raises
    ------
    ExpectationError
        A value violates its limit or is missing from the report. The message lists the locations.
    UsageError
        A limit's name is unknown or its value is invalid.

    Examples
    --------
    >>> _ = wb.expect(compiled, breaks=0, kernels="<= 12").peak_bytes("<= 1 MB")
    >>> wb.expect(compiled).kernels(0)
    Traceback (most recent call last):
    workbench.errors.ExpectationError: f:
      kernels: 1 (counted), at most 0 expected
        - k0 (cpp_fused_add_mul_relu_0)
    Causes and fixes: docs/pages/guide/troubleshooting.md#expectationerror
    """
    from workbench.artifacts.records.report_in import record_of
    from workbench.worlds.expectations.expectation import Expectation

    return Expectation(record_of(x)).all(limits)

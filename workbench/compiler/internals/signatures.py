"""Signatures and annotations of the user's functions, which may name what is not there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations


def signature_of(function: Callable[..., Any], follow_wrapped: bool = True) -> inspect.Signature:
    """As `inspect.signature`, whatever the annotations name.

    Python 3.14 evaluates annotations when they are read; one that names what only type checkers
    import then raises `NameError`, and stays a forward reference here.
    """
    if sys.version_info >= (3, 14):
        return inspect.signature(
            function, follow_wrapped=follow_wrapped, annotation_format=Format.FORWARDREF
        )
    return inspect.signature(function, follow_wrapped=follow_wrapped)


@contextmanager
def drop_bad_annotations(function: Any) -> Iterator[None]:
    """Inside, annotations of a function that cannot be evaluated are text, for torch to read."""
    if sys.version_info >= (3, 14) and inspect.isfunction(function):
        try:
            _ = function.__annotations__
        except Exception:  # whatever an expression of the user's raises
            evaluate = function.__annotate__
            function.__annotations__ = get_annotations(function, format=Format.STRING)
            try:
                yield
            finally:
                function.__annotate__ = evaluate  # forgets the text
            return
    yield

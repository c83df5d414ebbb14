"""A report as a member of a package: torch's loader reads every member below `extra/` as text."""

from __future__ import annotations

import base64
import binascii

from workbench.errors import ArtifactError

SUFFIX = ".wbr.b64"


def encode(report: bytes) -> bytes:
    """The member for the content of a `.wbr` file."""
    return base64.b64encode(report)


def decode(member: bytes) -> bytes:
    """The content of the `.wbr` file in a member; raises `ArtifactError` when it is damaged."""
    try:
        return base64.b64decode(member, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArtifactError(
            f"The report in the package is damaged ({error}). Get the file again."
        ) from error

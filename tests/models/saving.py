"""Saves variants of a model in a process that makes no other: `broken|generating NAME PATH`.

Guards of transformers' models count the classes that were made, so that a file fits a process that
has made the same ones.
"""

from __future__ import annotations

import sys

from tests.models import broken, generating

SAVE = {"broken": broken.save, "generating": generating.save}

if __name__ == "__main__":
    kind, name, path = sys.argv[1:]
    SAVE[kind](name, path)

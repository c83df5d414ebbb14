"""Saves variants of a model in a process that made another before: `broken|generating NAME PATH`.

transformers notes down every class that was made; a file fits a process that has made others.
"""

from __future__ import annotations

import sys

from tests.models import broken, generating, zoo

SAVE = {"broken": broken.save, "generating": generating.save}

if __name__ == "__main__":
    kind, name, path = sys.argv[1:]
    zoo.build("gpt2" if name.startswith("llama") else "llama")
    SAVE[kind](name, path)

"""A stand-in for a file of torch's `save_compiled_function`: its keys, without compiled code."""

from __future__ import annotations

import inspect
import pickle


def write_like_torch(*further: object) -> bytes:
    """The pickle: a signature under the first key, the state of the guards under a later one."""
    kept = {"signature": inspect.Signature(), "guards_state": b"", "further": further}
    return pickle.dumps(kept, protocol=4)

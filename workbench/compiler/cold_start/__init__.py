"""What makes the first compilation in a process quick."""

DOORS = {
    "compile_cache": "A compilation without trial compilations, with a cache that lasts.",
    "partial_pch": "A part of a kernel's headers, precompiled while the compiler is imported.",
    "warm_up": "Fills the cache from a process in the background.",
}
"""What other rooms import of this one."""

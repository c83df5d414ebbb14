"""What makes the first compilation in a process quick."""

DOORS = {
    "compile_cache": "Compiles without trial compilations and with a persistent cache.",
    "partial_pch": "Precompiles some of the kernel headers while torch's compiler is imported.",
    "warm_up": "Fills the cache from a background process.",
}
"""What other rooms import of this one."""

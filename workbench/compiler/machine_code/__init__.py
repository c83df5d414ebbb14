"""The texts that compilers write for GPUs and processors, read into tables."""

DOORS = {
    "code_readers": "Compiled configurations of Triton kernels: noted, read, as rows.",
    "host_code": "The machine code of C++ kernels, read from their libraries.",
    "machine_code": "The machine code of every GPU kernel, as tables of the report.",
}
"""What other rooms import of this one."""

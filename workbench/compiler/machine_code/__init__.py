"""The texts that compilers write for GPUs and processors, read into tables."""

DOORS = {
    "code_readers": "Records compiled configurations of Triton kernels, and reads them as rows.",
    "host_code": "Reads the machine code of C++ kernels from their libraries.",
    "machine_code": "Writes the machine code of every GPU kernel into tables of the report.",
}
"""What other rooms import of this one."""

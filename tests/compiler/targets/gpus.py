"""GPUs for tests: what matters is that their answers differ."""

from __future__ import annotations

from workbench.compiler.targets.gpu import Gpu

H100 = Gpu(
    target="h100",
    name="NVIDIA H100 80GB HBM3",
    arch=90,
    major=9,
    minor=0,
    multiprocessors=132,
    warp_size=32,
    threads_per_multiprocessor=2048,
    registers_per_multiprocessor=65536,
    shared_per_block=48 << 10,
    shared_per_block_optin=227 << 10,
    shared_per_multiprocessor=228 << 10,
    l2_bytes=50 << 20,
    memory_bytes=80 << 30,
    clock_khz=1_980_000,
    memory_clock_khz=2_619_000,
    memory_bus_bits=5120,
)
MI300X = Gpu(
    target="mi300x",
    name="AMD Instinct MI300X",
    arch="gfx942",
    major=9,
    minor=4,
    multiprocessors=304,
    warp_size=64,
    threads_per_multiprocessor=2048,
    registers_per_multiprocessor=131072,
    shared_per_block=64 << 10,
    shared_per_block_optin=64 << 10,
    shared_per_multiprocessor=64 << 10,
    l2_bytes=4 << 20,
    memory_bytes=192 << 30,
    clock_khz=2_100_000,
    memory_clock_khz=1_300_000,
    memory_bus_bits=8192,
)

"""The values that arguments of `aot_compile` can have."""

from __future__ import annotations

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
TARGETS = ("host", "cpu", "cuda")
GUARD_POLICIES = ("portable", "strict")
CAPTURE_LEVELS = ("full", "light")

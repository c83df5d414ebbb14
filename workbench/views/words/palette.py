"""The colours of kernels, for pictures that cannot follow a theme."""

KERNEL_COLOURS = (
    *("#2f6db3", "#d4582a", "#1f8a5b", "#a3418f"),
    *("#a88600", "#2492b8", "#4a369c", "#5a4030"),
)

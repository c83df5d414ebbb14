"""A model written to a `.pt2` package: torch.export, AOTInductor, the archive and its manifest."""

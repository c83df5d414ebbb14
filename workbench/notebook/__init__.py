"""The workbench inside IPython: magics, completion, progress."""

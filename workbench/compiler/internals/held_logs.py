"""What torch logs about a step that fails is held back: our error says it, and has torch's within.

torch prints twenty lines in red, such as "Error while creating guard", before it raises the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.compiler.internals import torch_private as tp


@contextmanager
def hold_logs() -> Iterator[None]:
    """Hold back what torch says of guards in this thread until the block ends without an error."""
    loggers = [logging.getLogger(row.module) for row in tp.GUARD_LOGGERS]
    held: list[logging.LogRecord] = []
    thread = threading.get_ident()

    def keep(record: logging.LogRecord) -> bool:
        is_ours = record.thread == thread
        if is_ours:
            held.append(record)
        return not is_ours

    for logger in loggers:
        logger.addFilter(keep)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(keep)
    for record in held:
        logging.getLogger(record.name).handle(record)

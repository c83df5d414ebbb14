"""Look-ups of compiled variants: whether compiled graphs ran, and which frames ran eagerly."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches

PANE = "look-ups"
_GRAPH = "__compiled_fn"  # how Dynamo's code calls a graph
_CALLED = {"compile_wrapper": "fn", "_call_impl": "forward_call"}
"""Functions of torch that call what is looked up, by the name that they have for it."""
_MOST_UNTOLD = (
    64  # calls of what cannot be told before that is given up: a look costs a microsecond
)
_Site = tuple[CodeType, int]


class LookUps:
    """Counts the calls that found no variant and were not compiled either, by their code.

    Torch tells only that a look-up went well or not. A miss that Dynamo tries to compile next is no
    eager call. Of any other the line that called it tells the frame: the only one that was tried
    there, or what torch's own caller holds. Where neither tells, nothing is counted for certain.
    """

    def __init__(self, patches: Patches):
        self._patches = patches
        self._sites: dict[_Site, set[CodeType]] = {}
        self._open: dict[int, tuple[_Site, CodeType | None]] = {}
        self._missed: Counter[CodeType | None] = Counter()
        self._limited: set[CodeType] = set()
        self._seen: set[CodeType] = set()
        self._is_whole = False
        self._untold = 0
        self.ran_graph: bool | None = None
        """Whether a compiled graph was called; None where a call could not be told."""

    def install(self) -> None:
        """Watch look-ups until the patches are undone."""
        setter = tp.GUARD_COMPLETE_HOOK.find()
        if setter is None:
            return
        self._is_whole, self.ran_graph = True, False

        def looked(is_found: bool) -> bool:
            if is_found:
                if (not self.ran_graph and self._untold < _MOST_UNTOLD) or self._open:
                    self._patches.guarded(PANE, self._hit, sys._getframe(1))
            elif self._limited:
                self._patches.guarded(PANE, self._miss, sys._getframe(1))
            return is_found if before is None else bool(before(is_found))

        before = setter(looked)
        self._patches.callback(setter, before)

    def attempted(self, code: CodeType, caller: FrameType) -> None:
        """Dynamo tries a frame: the miss before was the first half of that."""
        site = (caller.f_code, caller.f_lasti)
        self._sites.setdefault(site, set()).add(code)
        thread = threading.get_ident()
        # one line may call several functions: the miss of another one was an eager call
        is_site = thread in self._open and self._open[thread][0] == site
        if is_site and self._open[thread][1] in (None, code):
            del self._open[thread]
        self._settle(thread)

    def limited(self, code: CodeType) -> None:
        """A frame gets no further variant; the call that asked for one runs eagerly too."""
        self._limited.add(code)
        self._missed[code] += 1

    def _hit(self, caller: FrameType) -> None:
        self._settle(threading.get_ident())
        if self.ran_graph:
            return
        code = self._called(caller)
        if code is None:
            self.ran_graph = None
            self._untold += 1
        elif code not in self._seen:
            self._seen.add(code)
            find = tp.CACHE_ENTRIES.find()
            entries: Iterable[Any] = () if find is None else find(code)
            names = (name for entry in entries for name in entry.code.co_names)
            if any(name.startswith(_GRAPH) for name in names):
                self.ran_graph = True

    def _miss(self, caller: FrameType) -> None:
        thread = threading.get_ident()
        self._settle(thread)
        self._open[thread] = (caller.f_code, caller.f_lasti), self._called(caller)

    def _settle(self, thread: int) -> None:
        """A miss that nothing was tried after was an eager call."""
        miss = self._open.pop(thread, None)
        if miss is not None:
            self._missed[miss[1]] += 1

    def _called(self, caller: FrameType) -> CodeType | None:
        held = _CALLED.get(caller.f_code.co_name)
        if held is not None and held in caller.f_locals:
            function = caller.f_locals[held]
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            return code if isinstance(code, CodeType) else None
        tried = self._sites.get((caller.f_code, caller.f_lasti), set())
        return next(iter(tried)) if len(tried) == 1 else None

    def eager_calls(self, code: CodeType) -> int | None:
        """Calls of a limited frame that ran eagerly; None where not every one could be told."""
        missed = Counter(self._missed)
        missed.update(called for _, called in list(self._open.values()))
        return missed[code] if self._is_whole and not missed[None] else None

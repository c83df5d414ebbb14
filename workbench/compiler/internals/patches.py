"""Replacements in torch that can be undone: hooks of one thread, or answers for a whole process."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals.torch_private import Name

Function = Callable[..., Any]
_LOCK = threading.Lock()  # two threads may install and undo hooks on the same name
_LINK = "_workbench_link"


@dataclass(slots=True, eq=False)
class Link:
    """What a wrapper calls next; changed when a wrapper below it is undone.

    `raw` is `inner` as its holder stores it: a static method is no function there; `is_own` says
    whether the holder stores it at all, or inherits it.
    """

    inner: Function
    raw: Any
    is_own: bool

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what is next now."""
        return self.inner(*args, **kwargs)


@dataclass(frozen=True)
class Hook:
    """What a part of the record is told of: a function of torch, or a record of its trace by name.

    `before` and `after` observe, a record has `after` alone; `around` makes what is called instead.
    """

    at: Name | str
    pane: str
    before: Callable[..., object] | None = None
    after: Callable[..., object] | None = None
    around: Callable[[Function], Function] | None = None


class Patches(ExitStack):
    """Wraps of private names, undone together; what does not exist is listed in `missing`.

    Every wrap is passed through by threads other than those in `threads`, so that a compilation
    elsewhere is neither seen nor slowed down. `missing` maps a pane of the report to the reason
    why it lost its hook, `failed` to the first error of an observer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = {threading.get_ident()}
        self.missing: dict[str, str] = {}
        self.failed: dict[str, str] = {}

    def wrap(
        self,
        name: Name,
        make: Callable[[Function], Function],
        pane: str = "",
        *,
        is_everywhere: bool = False,
    ) -> bool:
        """Replace a function by what `make` returns for it; False when torch does not have it.

        With `is_everywhere` the wrap holds for every thread.
        """
        wrapper = self._everywhere if is_everywhere else self._wrapper
        return self._replace(name, lambda link: wrapper(link, make), pane)

    def wrap_calls(self, name: Name, make: Callable[[Link], Function], pane: str = "") -> bool:
        """As `wrap` everywhere, for what a program calls all the time.

        What `make` returns calls `link.inner` itself: one Python call less each time.
        """
        return self._replace(name, lambda link: _linked(link, make(link)), pane)

    def _replace(self, name: Name, make: Callable[[Link], Function], pane: str) -> bool:
        holder, attribute = _holder(name)
        if holder is None:
            self.missing.setdefault(pane, f"this torch has no {name.target.replace(':', '.')}")
            return False
        with _LOCK:
            raw = _raw(holder, attribute)
            wrapper = make(Link(_function(raw), raw, attribute in vars(holder)))
            kind = type(raw) if isinstance(raw, staticmethod | classmethod) else None
            setattr(holder, attribute, kind(wrapper) if kind else wrapper)
        self.callback(_unlink, holder, attribute, wrapper)
        return True

    @staticmethod
    def _everywhere(link: Link, make: Callable[[Function], Function]) -> Function:
        return _linked(link, make(link.call))

    def _wrapper(self, link: Link, make: Callable[[Function], Function]) -> Function:
        hooked = make(link.call)
        threads = self.threads
        ident = threading.get_ident

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if ident() in threads:
                return hooked(*args, **kwargs)
            return link.inner(*args, **kwargs)

        return _linked(link, wrapper)

    def observe(
        self,
        name: Name,
        pane: str,
        *,
        before: Callable[..., object] | None = None,
        after: Callable[..., object] | None = None,
    ) -> bool:
        """Call `before(*args)` and `after(result, *args)` around a function.

        An observer changes neither arguments nor result. When it raises, the error is kept in
        `failed`, the observer is not called again, and torch goes on.
        """

        def make(inner: Function) -> Function:
            def observed(*args: Any, **kwargs: Any) -> Any:
                if before is not None and pane not in self.failed:
                    self.guarded(pane, before, *args, **kwargs)
                result = inner(*args, **kwargs)
                if after is not None and pane not in self.failed:
                    self.guarded(pane, after, result, *args, **kwargs)
                return result

            return observed

        return self.wrap(name, make, pane)

    def guarded(
        self, pane: str, observer: Callable[..., object], *args: Any, **kwargs: Any
    ) -> None:
        """Call an observer; an error costs its pane, not the compilation."""
        try:
            observer(*args, **kwargs)
        except Exception as error:
            self.failed[pane] = f"the observer failed with {type(error).__name__} ({error})"

    def follow(self, task: Function) -> Function:
        """A task for another thread, which counts as recorded while it runs the task."""

        def followed() -> Any:
            ident = threading.get_ident()
            is_new = ident not in self.threads
            self.threads.add(ident)
            try:
                return task()
            finally:
                if is_new:
                    self.threads.discard(ident)

        return followed

    def config(self, name: Name, values: Mapping[str, Any], pane: str = "") -> None:
        """Set options of a torch config module, for this thread, until the patches are undone."""
        config = name.find()
        present = {} if config is None else {k: v for k, v in values.items() if _has(config, k)}
        for key in values.keys() - present.keys():
            self.missing.setdefault(pane, f"this torch has no option {key}")
        if config is not None and present:
            self.enter_context(config.patch(present))


def _linked(link: Link, function: Function) -> Function:
    """A function in the place of another, which knows what it calls next."""
    wrapper: Function = functools.wraps(link.inner)(function)
    setattr(wrapper, _LINK, link)
    return wrapper


def _has(config: Any, key: str) -> bool:
    holder = config
    for part in key.split("."):
        if not hasattr(holder, part):
            return False
        holder = getattr(holder, part)
    return True


def _holder(name: Name) -> tuple[Any, str]:
    path, _, attribute = name.attribute.rpartition(".")
    if name.find() is None:
        return None, attribute
    return Name(f"{name.module}:{path}", name.used_for).find(), attribute


def _raw(holder: Any, attribute: str) -> Any:
    """The attribute as it is stored, without binding it."""
    return vars(holder).get(attribute) or getattr(holder, attribute)


def _function(raw: Any) -> Any:
    return raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw


def _unlink(holder: Any, attribute: str, wrapper: Function) -> None:
    """Remove `wrapper` from the chain of wrappers, at any position."""
    with _LOCK:
        removed: Link = getattr(wrapper, _LINK)
        current = _function(_raw(holder, attribute))
        if current is wrapper:
            if removed.is_own:
                setattr(holder, attribute, removed.raw)
            else:
                delattr(holder, attribute)
            return
        link = getattr(current, _LINK, None)
        while link is not None and link.inner is not wrapper:
            link = getattr(link.inner, _LINK, None)
        if link is not None:
            link.inner, link.raw, link.is_own = removed.inner, removed.raw, removed.is_own


class Overlay:
    """Stands for an object: some of its attributes are replaced, all others are its own."""

    def __init__(self, target: Any, **replaced: Any):
        self._target = target
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


_ABSENT = object()


class ProcessPatches(ExitStack):
    """Replaces what a process believes about its machine, until it is left.

    Unlike `Patches`, which watch one thread, these hold for the whole process: use them where
    nothing else runs.
    """

    def attribute(self, holder: Any, name: str, value: object) -> None:
        """Set one attribute of a module or class; one that was not there is removed later."""
        before = vars(holder).get(name, _ABSENT)
        setattr(holder, name, value)
        if before is _ABSENT:
            self.callback(delattr, holder, name)
        else:
            self.callback(setattr, holder, name, before)

    def name(self, name: Name, value: object) -> None:
        """Set one private name of torch, whether this release and build has it or not."""
        path, _, attribute = name.attribute.rpartition(".")
        self.attribute(Name(f"{name.module}:{path}", name.used_for).get(), attribute, value)

    def entry(self, mapping: MutableMapping[Any, Any], key: Any, value: object) -> None:
        """Set one entry of a mapping; one that was not there is removed later."""
        before = mapping.get(key, _ABSENT)
        mapping[key] = value
        if before is _ABSENT:
            self.callback(mapping.pop, key, None)
        else:
            self.callback(mapping.__setitem__, key, before)


@contextmanager
def hold_torch_warnings() -> Iterator[None]:
    """Keep warnings and errors that torch logs in this thread off its handlers; the rest stays."""
    thread = threading.get_ident()
    registered = list(logging.root.manager.loggerDict.items())
    loggers = [log for name, log in registered if name.partition(".")[0] == "torch"]
    handlers = {h for log in loggers if isinstance(log, logging.Logger) for h in log.handlers}

    def is_wanted(record: logging.LogRecord) -> bool:
        return record.thread != thread or record.levelno < logging.WARNING

    with ExitStack() as stack:
        for handler in handlers:
            handler.addFilter(is_wanted)
            stack.callback(handler.removeFilter, is_wanted)
        yield


@contextmanager
def hold_messages(log: logging.Logger | None, *starts: str) -> Iterator[None]:
    """Keep messages that begin in one of these ways out of a log of torch's."""

    def is_wanted(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(starts)

    with ExitStack() as stack:
        if log is not None:
            log.addFilter(is_wanted)
            stack.callback(log.removeFilter, is_wanted)
        yield

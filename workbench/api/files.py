"""What opens, checks, describes and vouches for files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from weakref import finalize

from workbench.arguments import checked
from workbench.errors import ArtifactError, UsageError
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.artifacts.inspect.artifact_report import ArtifactReport
    from workbench.artifacts.machine.machine_description import Machine
    from workbench.artifacts.preflight.check import Check
    from workbench.handles.compiled import Compiled
    from workbench.handles.loading.frame_variants import LoadedVariants
    from workbench.handles.packages.package import Package


Made = TypeVar("Made")
_CHUNK = 1 << 20  # bytes that are copied at once

__all__ = ["check", "inspect", "load", "machine", "sign", "trust", "trust_key"]


@require_torch
@checked
def load(
    path: str | PathLike[str] | BinaryIO,
    module: Any | None = None,
    *,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    trust: bool | str = False,
    num_runners: int = 1,
    check: bool = True,
    variant: str | None = None,
    on_miss: str | None = None,
) -> Compiled | Package | LoadedVariants:
    """Load an `.aot`, `.aotv` or `.pt2` file, or a file written by torch, as a callable.

    A `.pt2` file runs its compiled code directly, without importing, searching for or running a
    compiler.

    Parameters
    ----------
    path
        A path, or a binary file-like object such as io.BytesIO, which is read from the beginning.
    module
        For an `.aot` file without weights, the module (or other object) to call it on. A module on
        the meta device is filled from the bundled weights. For a `.pt2` file, the module or
        state_dict whose weights replace those in the file. For an `.aotv` file, the recorded
        function or module, which then runs the compiled code.
    external_data
        Objects that were left out of an `.aot` file when it was saved, under the same names.
    f_globals
        The globals that the function in an `.aot` file would see here.
    trust
        True runs an untrusted file, with a warning. `"sha256:…"` trusts only a file with this
        digest.
    num_runners
        For a `.pt2` file, the number of concurrent calls from several threads. Further calls are
        queued.
    check
        If False, calls are not checked against the input contract. This saves less than a
        microsecond per tensor. Wrong shapes, strides, dtypes or devices then cause wrong results or
        out-of-bounds reads and writes.
    variant
        For a `.pt2` file with variants of one model, the only variant to use. By default, a call
        uses the first variant that the machine can run and that accepts its inputs.
        `package.variants` and `package.variant_of(x)` show the choice and the reason.
    on_miss
        What to do if no variant in an `.aotv` file matches the call. "compile" (default) compiles a
        new variant, as in torch.compile. "eager" runs the call without compiling, and "error"
        raises `ArtifactError`.

    Raises
    ------
    ArtifactError
        The file is damaged, was not written by this workbench or torch, does not fit this machine,
        or does not have the variant.
    TrustError
        The file was created elsewhere and is not trusted.
    UsageError
        An argument does not apply to this kind of file.

    Examples
    --------
    >>> loaded = wb.load("f.aot")
    >>> torch.equal(loaded(x), f(x))
    True
    """
    from workbench.artifacts.archive.file_kinds import LOADABLE, open_any
    from workbench.handles.loading.loaders import find_loader

    own = {
        "external_data": external_data,
        "f_globals": f_globals,
        "num_runners": None if num_runners == 1 else num_runners,
        "variant": variant,
        "on_miss": on_miss,
    }
    options = {name: value for name, value in own.items() if value is not None}

    def opened(path: str | PathLike[str]) -> Compiled | Package | LoadedVariants:
        with open_any(path) as file:
            for name in options:
                if name not in file.loadable.options:
                    (suffix,) = (
                        loadable.suffix for loadable in LOADABLE if name in loadable.options
                    )
                    raise UsageError(f"{name} is for {suffix} files; leave it out for this one.")
            load_file = find_loader(file.loadable)
            loaded: Compiled | Package | LoadedVariants = load_file(
                path, module=module, trust=trust, check=check, opened=file, **options
            )
            return loaded

    return _call_with_path(path, opened)


@checked
def inspect(path: str | PathLike[str] | BinaryIO, *, verify: bool = False) -> ArtifactReport:
    """Inspect a file of any kind, without executing anything from it.

    Tables list members with their sizes, inputs and outputs, constants, kept and dropped guards,
    and machine requirements. Other tables list sources, the sections and symbols of libraries, and
    the names that pickles import. Get a table by name, for example
    `inspect(path).frame("members")`.

    Parameters
    ----------
    path
        A path or binary file-like object of an `.aot` or `.pt2` file written by this workbench.
        Files written by torch's `save_compiled_function`, `aoti_compile_and_package` and
        `torch.export.save` are also supported.
    verify
        Verify the hashes of all members. By default, only the smallest members are verified, up to
        64 MiB in total. The others are reported as "not hashed".

    Raises
    ------
    ArtifactError
        The file is missing, is of another kind, or has a damaged structure.

    Examples
    --------
    >>> wb.inspect("f.aot").frame("inputs").name.to_list()
    ['x']
    """
    from workbench.artifacts.preflight.check import inspect_and_check

    return _call_with_path(path, lambda path: inspect_and_check(path, verify=verify))


@checked
def check(path: str | PathLike[str] | BinaryIO, machine: Any = None) -> Check:
    """Check each requirement of a file against a machine, with the result pass, warn or fail.

    Accepts the same kinds of files as `inspect`, and executes nothing from them.

    Parameters
    ----------
    machine
        None means this machine. For another machine, pass the result of `machine()` there or a dict
        with some of its fields. You can also pass the path of a JSON file written there by
        `python -m workbench.machine > target.json`.

    Examples
    --------
    >>> wb.check("f.aot").ok
    True
    >>> wb.check("f.aot", {"torch": "2.12.0"}).ok
    False
    """
    from workbench.artifacts.preflight.check import check as run

    return _call_with_path(path, lambda path: run(path, machine))


@checked
def machine() -> Machine:
    """Describe this machine for artifacts, as JSON-serializable data.

    Does not import torch or initialize a GPU.

    Examples
    --------
    >>> described = wb.machine()
    >>> wb.check("f.aot", described).ok
    True
    """
    from workbench.artifacts.machine.machine_description import describe_machine

    return describe_machine()


@checked
def trust(path: str | PathLike[str]) -> str:
    """Trust a file for this user account and return its digest.

    Check the file with `inspect(path)` first.

    Examples
    --------
    >>> wb.trust("f.aot") == wb.inspect("f.aot").digest
    True
    """
    from workbench.artifacts.trust.trust import trust as run

    return run(path)


@checked
def sign(path: str | PathLike[str], key: Any, *, password: str | None = None) -> str:
    """Sign an `.aot` file or a package with a team's ed25519 key and return its digest.

    The signature is added to the manifest in place. The rest of the file and its digest do not
    change. Create a key pair with::

        openssl genpkey -algorithm ed25519 -out team.pem
        openssl pkey -in team.pem -pubout -out team.pub.pem

    Parameters
    ----------
    key
        The path of the private key in PEM format, or an `Ed25519PrivateKey` from `cryptography`.
    password
        The password of the private key.

    Raises
    ------
    UsageError
        The key cannot be read, or the file was written by torch itself and has no manifest.
    ArtifactError
        The file is damaged or cannot be written.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> wb.sign("f.aot", Ed25519PrivateKey.generate()) == wb.inspect("f.aot").digest
    True
    """
    from workbench.artifacts.trust.team_signature import sign as run

    return run(path, key, password=password)


@checked
def trust_key(key: Any, *, name: str | None = None, revoke: bool = False) -> str:
    """Trust files signed with an ed25519 key for this user account, and return the key as text.

    A policy file can require a signature or forbid `trust=True`. The policy file is `policy.toml`
    in the data folder (`~/.local/share/aot-workbench`, or `$AOT_WORKBENCH_DATA`), or the file given
    by `$AOT_WORKBENCH_POLICY`. It overrides the arguments of `load`::

        signed_by = ["release.pub.pem", "ed25519:9c0e…", "user"]
        forbid_trust_true = true

    Parameters
    ----------
    key
        A public key: the path of a PEM file, its text, `"ed25519:…"` as returned by this function,
        or an `Ed25519PublicKey` from `cryptography`.
    name
        The name of the key in `inspect` and in error messages. Default: the file name.
    revoke
        Stop trusting the key, even if a policy lists it. `key` can then be the key's name.

    Raises
    ------
    UsageError
        `key` is not a public key, or another key has that name.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> word = wb.trust_key(Ed25519PrivateKey.generate().public_key(), name="release")
    >>> word == wb.trust_key("release", revoke=True)
    True
    """
    from workbench.artifacts.trust.trust import trust_key as run

    return run(key, name=name, revoke=revoke)


def _call_with_path(source: Any, work: Callable[[Any], Made]) -> Made:
    """What `work` makes of the path of a file, or of a file-like object, read from its beginning.

    An open file is used where it lies; another object is copied into a private file, which stays
    as long as what was made. Raises `UsageError` for an object that gives text or cannot go back.
    """
    if not hasattr(source, "read"):
        return work(source)
    place = _path_of(source)
    if place is not None:
        return work(place)
    from workbench.temporary import make_folder

    folder = make_folder("workbench-")
    try:
        result = work(_copied(source, folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result


def _path_of(source: Any) -> str | None:
    """Where an open file lies, while its name still leads there."""
    name = getattr(source, "name", None)
    if not isinstance(name, str) or not hasattr(source, "fileno"):
        return None
    try:
        source.flush()
        is_same = os.path.samestat(os.fstat(source.fileno()), os.stat(name))
    except (OSError, ValueError):  # closed, gone, or no file of the system
        return None
    return name if is_same else None


def _copied(source: Any, folder: os.PathLike[str]) -> str:
    named = getattr(source, "name", None)
    name = os.path.basename(named) if isinstance(named, str) else ""
    path = os.path.join(folder, name or "file")
    try:
        source.seek(0)
        with open(path, "wb") as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
    except TypeError as error:
        raise UsageError(
            "The file was opened as text: open it with mode 'rb', or pass its path."
        ) from error
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"The {type(source).__name__} cannot be read from its beginning ({error}). Pass a path "
            "or io.BytesIO(content)."
        ) from error
    return path

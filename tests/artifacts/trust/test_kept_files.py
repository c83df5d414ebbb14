"""The files of the trust store: nothing lost, nothing half-made, nothing of others believed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts.archive import aot_container
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.trust import kept_files
from workbench.artifacts.trust.team_keys import TeamKey
from workbench.artifacts.trust.trust import TrustStore, check_trust


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path / "data"))
    return TrustStore.of_user()


def manifest() -> Manifest:
    return aot_container.with_members(Manifest(contract={"a": 1}), {"payload": b"x"})


def at_once(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own."""
    start = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        start.wait()
        work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_processes(*works: Callable[[], object]) -> None:
    """Run each in a process of its own, and see that it ends well."""
    children = []
    for work in works:
        child = os.fork()
        if not child:
            try:
                work()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def word(number: int) -> str:
    return f"ed25519:{number:064x}"


@pytest.mark.parametrize("run", [at_once, in_processes])
def test_what_several_trust_and_revoke_at_once_is_all_kept(
    store: TrustStore, run: Callable[..., None]
) -> None:
    keys = [word(number) for number in range(2, 10)]
    run(*(lambda k=k: wb.trust_key(k) for k in keys))
    assert {key.text for key in store.team_keys.all()} == {*keys}
    run(*(lambda k=k: wb.trust_key(k, revoke=True) for k in keys))
    assert all(key.revoked for key in store.team_keys.all())
    run(*(lambda n=n: [store.vouch(f"sha256:{n}-{i}") for i in range(5)] for n in range(8)))
    assert len(store.digests()) == 40


@pytest.mark.parametrize("run", [at_once, in_processes])
def test_there_is_one_key_whoever_makes_it(
    store: TrustStore, tmp_path: Path, run: Callable[..., None]
) -> None:
    def note(number: int) -> None:
        (tmp_path / f"made{number}").write_bytes(store.make_key())

    run(*(lambda n=n: note(n) for n in range(6)))
    assert {file.read_bytes() for file in tmp_path.glob("made*")} == {store.key()}


def test_a_key_that_was_not_made_whole_is_not_there(
    store: TrustStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_files.os, "fsync", full)
    assert store.sign_if_possible(manifest()).signatures == ()
    assert [file.name for file in store.folder.iterdir()] == ["lock"]
    monkeypatch.undo()
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(store.folder))
    left = store.folder / ".key.0123abcd.part"  # of a process that was killed
    left.write_bytes(b"x" * 20)
    assert store.signed_by_user(store.sign(manifest()))
    assert not left.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"k" * 64, "was not created by this workbench"),
        (bytes(range(32)), "was not created by this workbench"),
        (b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 60, "was not created by this workbench"),
    ],
)
def test_a_key_of_another_kind_is_named_and_never_signs(
    store: TrustStore, content: bytes, words: str
) -> None:
    signed = store.sign(manifest())
    (store.folder / "key").write_bytes(content)
    with pytest.raises(wb.TrustError, match=words):
        store.sign(manifest())
    with pytest.warns(UserWarning, match=f"saved without your signature.*{words}"):
        assert store.sign_if_possible(manifest()).signatures == ()
    with pytest.raises(wb.TrustError, match=words):
        check_trust("m.aot", signed.digest, trust=False, store=store, manifest=signed)
    check_trust("m.aot", signed.digest, trust=signed.digest, store=store, manifest=signed)


def _readable(store: TrustStore) -> None:
    (store.folder / "key").chmod(0o640)


def _pipe(store: TrustStore) -> None:
    (store.folder / "key").unlink()
    os.mkfifo(store.folder / "key", 0o600)


def _link(store: TrustStore) -> None:
    (store.folder / "key").rename(store.folder / "other")
    (store.folder / "key").symlink_to("other")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_readable, "Other users can read the signing key .* chmod 600"),
        (_pipe, "key is no file"),
        (_link, "key cannot be read"),
        (lambda store: store.folder.chmod(0o777), "Other users can write to the folder"),
    ],
)
def test_what_others_may_have_touched_is_not_believed(
    store: TrustStore, spoil: Callable[[TrustStore], object], words: str
) -> None:
    signed = store.sign(manifest())
    spoil(store)
    with pytest.raises(wb.TrustError, match=words):
        store.sign(manifest())
    with pytest.raises(wb.TrustError, match=words):
        check_trust("m.aot", signed.digest, trust=False, store=store, manifest=signed)


def test_digests_and_keys_in_a_folder_of_others_are_not_believed(store: TrustStore) -> None:
    store.vouch("sha256:00")
    wb.trust_key(word(2))
    store.folder.chmod(0o777)
    assert not store.digests()
    for change in (lambda: store.vouch("sha256:01"), lambda: wb.trust_key(word(3))):
        with pytest.raises(wb.TrustError, match="chmod 700"):
            change()
    with pytest.raises(wb.TrustError, match="chmod 700"):
        store.policy()


@pytest.mark.parametrize("content", [b'["sha256:0', b"{}", b"[1]", b"\xff", b"[" * 100_000])
def test_a_damaged_list_of_digests_is_kept_aside(store: TrustStore, content: bytes) -> None:
    store.vouch("sha256:00")
    (store.folder / "trusted.json").write_bytes(content)
    assert not store.digests()
    with pytest.raises(wb.TrustError, match=r"The digests that you trust, in .* cannot be read"):
        check_trust("m.aot", "sha256:00", trust=False, store=store, manifest=manifest())
    with pytest.warns(UserWarning, match="could not be read .* Trust those files again"):
        store.vouch("sha256:01")
    assert store.digests() == {"sha256:01"}
    (aside,) = store.folder.glob("trusted.json.damaged-*")
    assert aside.read_bytes() == content


def test_a_list_that_cannot_be_opened_is_not_overwritten(store: TrustStore) -> None:
    (store.folder / "trusted.json").mkdir(parents=True)
    store.folder.chmod(0o700)
    with pytest.raises(wb.ArtifactError, match="Load with trust='sha256:01' instead"):
        store.vouch("sha256:01")


ORDER = 2**255 - 19
D = -121665 * pow(121666, -1, ORDER) % ORDER
ROOT = pow(2, (ORDER - 1) // 4, ORDER)


def x_of(y: int) -> int:
    """One x of the point of this y on the curve of ed25519 (RFC 8032, section 5.1.3)."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, ORDER) % ORDER
    x = pow(square, (ORDER + 3) // 8, ORDER)
    return x if x * x % ORDER == square else x * ROOT % ORDER


def doubled(x: int, y: int) -> tuple[int, int]:
    term = D * x * x * y * y
    return (
        2 * x * y * pow(1 + term, -1, ORDER) % ORDER,
        (y * y + x * x) * pow(1 - term, -1, ORDER) % ORDER,
    )


def test_every_key_of_low_order_is_refused(store: TrustStore) -> None:
    weak = [y for y in team_keys_low_order() if _order_divides_8(y)]
    assert len(weak) == 5
    encoded = [y | sign << 255 for y in (*weak, ORDER, ORDER + 1) for sign in (0, 1)]
    for number in encoded:
        text = "ed25519:" + number.to_bytes(32, "little").hex()
        with pytest.raises(wb.UsageError, match="low order"):
            wb.trust_key(text)
        (store.folder).mkdir(mode=0o700, exist_ok=True)
        (store.folder / "policy.toml").write_text(f'signed_by = ["{text}"]')
        with pytest.raises(wb.TrustError, match="low order"):
            store.policy()
    assert not TeamKey(f"{2:064x}").is_weak


def team_keys_low_order() -> tuple[int, ...]:
    from workbench.artifacts.trust.team_keys import _LOW_ORDER

    return _LOW_ORDER


def _order_divides_8(y: int) -> bool:
    point = x_of(y), y
    for _ in range(3):
        point = doubled(*point)
    return point == (0, 1)

"""What clients may do to the HTTP service: it answers in a sentence, stays small, and stays."""

from __future__ import annotations

import gzip
import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sample_packages import many_inputs

from tests.compiler.cpp_project.conftest import Service
from tests.compiler.cpp_project.test_service import call, request_of

INFER = "/v2/models/model/infer"
MIB = 1 << 20


@contextmanager
def connected(service: Service) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", service.port), timeout=200) as made:
        yield made


def said(connection: socket.socket) -> tuple[int, Any]:
    """The answer on a connection: its status and what it says; 0 where there is none."""
    content = b""
    try:
        while b"\r\n\r\n" not in content:
            got = connection.recv(MIB)
            if not got:
                return 0, None
            content += got
        head, _, body = content.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < size:
            got = connection.recv(MIB)
            assert got, "an answer that is cut short"
            body += got
    except ConnectionError:
        return 0, None
    return int(head.split()[1]), json.loads(body)


def raw(service: Service, *parts: bytes) -> tuple[int, Any]:
    """What the service answers to these bytes."""
    with connected(service) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except ConnectionError:
            pass  # it may answer before it has heard all
        return said(connection)


def post(
    service: Service, body: bytes, more: str = "", length: int | None = None
) -> tuple[int, Any]:
    size = len(body) if length is None else length
    head = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n{more}\r\n"
    return raw(service, head.encode(), body)


@pytest.fixture(scope="module", params=["echo", pytest.param("whole", marks=pytest.mark.slow)])
def attacked(request: pytest.FixtureRequest) -> tuple[Service, bytes]:
    """A service and a request that it answers."""
    if request.param == "echo":
        values = [number / 8 for number in range(128)]
        row = {"name": "x", "datatype": "FP32", "shape": [2, 64], "data": values}
        good = json.dumps({"id": "7", "inputs": [row]}).encode()
    else:
        good = request_of(request.getfixturevalue("package"), many_inputs())
    return request.getfixturevalue(request.param), good


@pytest.fixture
def service(attacked: tuple[Service, bytes]) -> Service:
    return attacked[0]


@pytest.fixture
def good(attacked: tuple[Service, bytes]) -> bytes:
    return attacked[1]


@pytest.fixture(autouse=True)
def alive(service: Service, good: bytes) -> Iterator[None]:
    yield
    assert post(service, good)[0] == 200
    assert service.model.poll() is None


def changed(good: bytes, **parts: Any) -> bytes:
    """The request with other parts of its first input."""
    request = json.loads(good)
    request["inputs"][0] |= parts
    return json.dumps(request).encode()


@pytest.mark.parametrize("deep", [b"[" * 100_000 + b"]" * 100_000, b"[" * (60 * MIB)])
def test_what_nests_too_deeply_is_refused_before_it_is_parsed(
    service: Service, good: bytes, deep: bytes
) -> None:
    for body in (deep, good.replace(b'"7"', deep)):
        status, answer = post(service, body)
        assert status == (400 if len(body) <= 64 * MIB else 413)
        assert "nested more than 72 deep" in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"[]," * (20 * MIB) + b"0]", id="lists"),
        pytest.param(b"[" + b"1," * (30 * MIB) + b"0]", id="numbers", marks=pytest.mark.slow),
    ],
)
def test_what_would_take_much_memory_is_refused_before_it_is_parsed(
    service: Service, body: bytes
) -> None:
    before = service.memory("VmHWM")
    status, answer = post(service, body)
    assert status == 400
    assert "send data as flat lists" in answer["error"]
    assert service.memory("VmHWM") - before < 5 * len(body)


def chunked(parts: Iterator[bytes]) -> Iterator[bytes]:
    yield f"POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    for part in parts:
        yield f"{len(part):x}\r\n".encode() + part + b"\r\n"
    yield b"0\r\n\r\n"


def test_chunks_are_read_and_have_the_same_limit(service: Service, good: bytes) -> None:
    pieces = (good[at : at + 100] for at in range(0, len(good), 100))
    assert raw(service, *chunked(pieces))[0] == 200
    status, answer = raw(service, *chunked(bytes([91]) * MIB for _ in range(70)))
    assert status == 413
    assert "at most 67108864 bytes are read" in answer["error"]
    assert post(service, b"", length=65 * MIB)[0] == 413


def test_packed_requests_are_refused(service: Service, good: bytes) -> None:
    for content in (good, bytes(100 * MIB)):
        status, answer = post(service, gzip.compress(content, 1), "Content-Encoding: gzip\r\n")
        assert (status, answer["error"]) == (415, "The request is packed: send it as it is")


def test_slow_clients_keep_nobody_waiting(service: Service, good: bytes) -> None:
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(150)]
    for number, one in enumerate(slow):
        if number % 3:
            one.sendall(f"POST {INFER} HTTP/1.1\r\nContent-Le".encode()[: number % 3 * 20])
    assert post(service, good)[0] == 200
    for one in slow:
        one.settimeout(30)
    assert {said(one)[0] for one in slow} <= {0, 408}  # their time is over
    for one in slow:
        one.close()


def test_more_connections_than_it_can_hold_are_told_so(service: Service) -> None:
    many = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(530)]
    status, answer = said(many[-1])
    assert (status, "too many connections" in answer["error"]) == (503, True)
    for one in many:
        one.close()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"shape": [4294967296, 4294967296, 0]}, "its shape is"),
        ({"shape": [0, 4294967296], "data": []}, "its shape is"),
        ({"shape": {"a": 1}}, "its shape is no list of sizes"),
        ({"shape": {}, "data": [1.0]}, "its shape is no list of sizes"),
        ({"shape": None}, "its shape is no list of sizes"),
        ({"shape": [1] * 100}, "its shape is no list of sizes"),
        ({"shape": [2**63]}, "its shape is no list of sizes"),
        ({"datatype": "x" * 100_000}, "is not known"),
        ({"datatype": 5}, "its datatype is no text"),
        ({"data": {"a": 1}}, "has an element that is no FP32"),
        ({"data": "AAAA"}, "has an element that is no FP32"),
        ({"data": None}, "has an element that is no FP32"),
        ({"name": 7}, "has no input named x"),
    ],
)
def test_wrong_parts_are_one_sentence(
    service: Service, good: bytes, parts: dict[str, Any], words: str
) -> None:
    status, answer = post(service, changed(good, **parts))
    assert status == 400
    assert words in answer["error"]
    assert len(answer["error"]) < 400
    assert "frame #" not in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        *(
            b"",
            b"null",
            b"7",
            b"[]",
            b"{}",
            b'{"inputs": {"x": {}}}',
            b'{"inputs": 3}',
            b"\xff\xfe",
        ),
        *(b'{"id": [1]}', b'{"id": {"a": 1}}', b'{"id": true}', b'{"inputs": [1e999]}'),
    ],
)
def test_other_json_is_one_sentence(service: Service, body: bytes) -> None:
    status, answer = post(service, body)
    assert status == 400
    assert answer["error"]


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /nowhere HTTP/1.1\r\n\r\n", 404),
        (b"GET /v2/models/other/infer HTTP/1.1\r\n\r\n", 404),
        (b"DELETE /v2/models/model HTTP/1.1\r\n\r\n", 405),
        (b"GET /v2/models/model/infer HTTP/1.1\r\n\r\n", 405),
        (b"POST /v2/health/live HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        (b"hello\r\n\r\n", 400),
        (b"\0" * 100 + b"\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n", 431),
        (b"GET /" + b"x" * 100_000, 431),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5_000, 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n", 415),
    ],
)
def test_every_refusal_says_why(service: Service, request_bytes: bytes, status: int) -> None:
    found, answer = raw(service, request_bytes)
    assert found == status
    assert answer["error"]


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(
    service: Service, good: bytes
) -> None:
    with connected(service) as connection:
        head = f"POST {INFER} HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {len(good)}"
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(good)
        assert said(connection)[0] == 200
        connection.sendall(b"GET /v2/health/live HTTP/1.1\r\n\r\n")  # the connection stays
        assert said(connection) == (200, {})


@pytest.mark.slow
def test_several_requests_at_once_have_one_limit(service: Service) -> None:
    found: list[int] = []
    body = b" " * (60 * MIB)

    def ask() -> None:
        found.append(post(service, body)[0])

    before = service.memory("VmHWM")
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*found} <= {0, 400, 503}
    assert service.memory("VmHWM") - before < 900 * MIB


def spoiled(good: bytes, chance: random.Random) -> bytes:
    """The request with some bytes changed, left out or repeated, or a value of another type."""
    if chance.random() < 0.5:
        request = json.loads(good)
        part = chance.choice([request, *request["inputs"]])
        values = (None, True, -1, 1e308, 2**64, "", "x", [], {}, [[]], [{"name": "x"}], "\ud800")
        part[chance.choice([*part])] = chance.choice(values)
        return json.dumps(request).encode()
    content = bytearray(good)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(content))
        size = chance.randrange(1, 20)
        content[at : at + size] = chance.choice(
            [b"", bytes([chance.randrange(256)]), content[at : at + size] * 2, b"[", b'"', b"e9"]
        )
    return bytes(content)


SEEDS = [11, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 16))]


@pytest.mark.parametrize("seed", SEEDS)
def test_changed_requests_are_answered(service: Service, good: bytes, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        body = spoiled(good, chance)
        status, answer = post(service, body)
        assert status in (200, 400), (status, answer, body)
        assert status == 200 or answer["error"]
        assert "frame #" not in json.dumps(answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_changed_heads_are_answered_or_closed(service: Service, good: bytes, seed: int) -> None:
    chance = random.Random(seed)
    head = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(good)}\r\n\r\n".encode()
    for _ in range(100):
        at = chance.randrange(len(head))
        other = head[:at] + bytes([chance.randrange(256)]) + head[at + chance.randrange(3) :]
        with connected(service) as connection:
            connection.sendall(other + good)
            connection.shutdown(socket.SHUT_WR)
            status, answer = said(connection)
        assert status in (0, 200, 400, 404, 405, 413, 415, 431, 501, 505), (status, other)
        assert status in (0, 200) or answer["error"]


def test_it_can_still_be_called(service: Service, good: bytes) -> None:
    status, answer = call(f"{service.url}/infer", good)
    assert (status, answer["id"]) == (200, "7")

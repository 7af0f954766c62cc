"""The proxy does to requests what it says."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.support.lossy_proxy import Fate, LossyProxy, Weather


class Counting(ThreadingHTTPServer):
    """Answers with what it was sent, and remembers it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Echo)
        self.got: list[bytes] = []


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Counting]:
    server = Counting()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def post(proxy: LossyProxy, body: bytes) -> bytes | None:
    """The reply; None if the connection was cut."""
    connection = http.client.HTTPConnection(urlsplit(proxy.url).netloc, timeout=30)
    try:
        connection.request("POST", "/", body)
        return connection.getresponse().read()
    except (http.client.HTTPException, OSError):
        return None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("weather", "fate", "answer", "arrives"),
    [
        (Weather(), Fate.ANSWERED, b"hello", True),
        (Weather(request_lost=1), Fate.REQUEST_LOST, None, False),
        (Weather(reply_lost=1), Fate.REPLY_LOST, None, True),
        (Weather(late=1, late_seconds=0.01), Fate.LATE, None, True),
    ],
)
def test_fates(weather: Weather, fate: Fate, answer: bytes | None, arrives: bool, upstream: Counting) -> None:
    with LossyProxy(weather, seed=1) as proxy:
        assert post(proxy, b"nobody is there") is None
        proxy.upstream = f"http://127.0.0.1:{upstream.server_port}"
        assert post(proxy, b"hello") == answer
    # What is late has arrived by now.
    assert upstream.got == ([b"hello"] if arrives else [])
    assert proxy.fates == {fate: 1}


def test_the_same_seed_is_the_same_weather(upstream: Counting) -> None:
    def answers(seed: int) -> list[bool]:
        with LossyProxy(Weather(request_lost=0.3, reply_lost=0.3), seed) as proxy:
            proxy.upstream = f"http://127.0.0.1:{upstream.server_port}"
            return [post(proxy, b"x") is not None for _ in range(30)]

    first = answers(3)
    assert first == answers(3) != answers(4)
    assert set(first) == {True, False}

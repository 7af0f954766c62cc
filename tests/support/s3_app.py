"""An S3 server for tests: moto behind one lock, on cheroot. Run as a script by the Python of `make env-s3`.

Prints its port on one line and serves until its standard input ends, so it never outlives whoever started it.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from cheroot import wsgi
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app


class OneAtATime:
    """moto checks and then writes: only one request at a time, GET included, makes its conditional puts and reads atomic."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        # moto takes the key from the undecoded path, which its own server passes under this name.
        environ["RAW_URI"] = environ["REQUEST_URI"]
        # The body is read before the lock is taken: a client that stalls in the middle holds up nobody.
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read())
        with self._lock:
            answer = self._application(environ, start_response)
            try:
                return list(answer)
            finally:
                if hasattr(answer, "close"):
                    answer.close()


def main() -> None:
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = wsgi.Server(("127.0.0.1", 0), application, numthreads=32, request_queue_size=128, timeout=300)
    server.prepare()
    print(server.bind_addr[1], flush=True)
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdin.buffer.read()
    # The server's threads may be in the middle of a request; there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main()

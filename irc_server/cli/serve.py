"""`treeline serve`."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import uvicorn

from catalog_format.errors import InvalidArgumentError
from irc_server.app import Application, make_app
from irc_server.settings import Settings, load_settings

_BACKLOG = 2048
# A request that takes longer than this is cut off when the server is told to stop.
_GRACE_S = 60


class _Server(uvicorn.Server):
    """Says when it is ready, and ends in good order when it is told to stop."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            click.echo(self._ready)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, without raising the signal again afterwards: catalogs are to be closed, and it was no failure."""
        former = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


@click.command()
@click.option(
    "--root", "roots", multiple=True, metavar="[NAME=]URL", help="A catalog: a folder, file:///…, or s3://bucket/prefix. Repeatable."
)
@click.option("--host", help="Address to bind to (127.0.0.1).")
@click.option("--port", type=int, help="Port (8181); 0 picks a free one.")
@click.option("--no-init", is_flag=True, help="Do not create a catalog that is not there; CREATE NAMESPACE sys does.")
@click.option("--allow-open-access", is_flag=True, help="Serve other than loopback without a token.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Settings file (TOML).")
def serve(
    roots: tuple[str, ...], host: str | None, port: int | None, no_init: bool, allow_open_access: bool, config_file: Path | None
) -> None:
    """Serve catalogs over the Iceberg REST protocol until SIGTERM or SIGINT.

    Every other setting comes from the environment (TREELINE_TOKEN, TREELINE_S3_ENDPOINT, …) or the settings file.
    """
    flags: dict[str, Any] = {"roots": list(roots), "host": host, "port": port}
    flags = {name: value for name, value in flags.items() if value not in (None, [])}
    if no_init:
        flags["init"] = False
    if allow_open_access:
        flags["allow_open_access"] = True
    run(load_settings(flags, config_file))


def run(settings: Settings) -> None:
    """Serve until told to stop. Raises what opening a catalog raises, and `InvalidArgumentError` for an address that is not free."""
    app = make_app(settings)
    with _bound(settings.host, settings.port) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        named = ", ".join(f"{root.name} ({root.url})" for root in app.roots)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            ws="none",
            timeout_graceful_shutdown=_GRACE_S,
        )
        server = _Server(config, f"Treeline serves {named} at {url}")
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_serve(app, server, listener))


async def _serve(app: Application, server: _Server, listener: socket.socket) -> None:
    try:
        await app.open()
        await server.serve([listener])
    finally:
        await app.close()


def _bound(host: str, port: int) -> socket.socket:
    listener: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise InvalidArgumentError(f"Cannot listen on {host}:{port}: {error.strerror}; choose another with --host and --port") from None
    return listener

"""`treeline serve`."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import click
import uvicorn

from catalog_format.errors import InvalidArgumentError
from irc_server.app import make_app
from irc_server.settings import Settings, load_settings

_BACKLOG = 2048


class _Server(uvicorn.Server):
    """Says when it is ready, with its URL."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            click.echo(self._ready)


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
    """Serve catalogs over the Iceberg REST protocol until SIGTERM or SIGINT."""
    flags: dict[str, Any] = {"roots": list(roots), "host": host, "port": port}
    flags = {name: value for name, value in flags.items() if value not in (None, [])}
    if no_init:
        flags["init"] = False
    if allow_open_access:
        flags["allow_open_access"] = True
    run(load_settings(flags, config_file))


def run(settings: Settings) -> None:
    """Serve until told to stop. Raises `InvalidArgumentError` when the address cannot be bound."""
    app = make_app(settings)
    listener = _bound(settings.host, settings.port)
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    named = ", ".join(f"{name} ({where})" for name, where in settings.named_roots().items())
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", server_header=False, date_header=False, backlog=_BACKLOG, ws="none"
    )
    server = _Server(config, f"Treeline serves {named} at {url}")
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve([listener]))
    if not server.started:
        raise SystemExit(3)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InvalidArgumentError(f"Cannot listen on {host}:{port}: {error.strerror}; choose another with --host and --port") from None
    return listener

"""The command line: `treeline`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from catalog_format.errors import TreelineError

# Name to "module:command"; modules are imported when they are called for.
COMMANDS = {
    "init": "irc_server.cli.init:init",
    "serve": "irc_server.cli.serve:serve",
    "log": "irc_server.cli.log:log",
    "show": "irc_server.cli.show:show",
    "tree": "irc_server.cli.tree:tree",
    "dtxn": "irc_server.cli.dtxn:dtxn",
    "check": "irc_server.cli.check:check",
    "expire": "irc_server.cli.expire:expire",
    "collect": "irc_server.cli.collect:collect",
    "purge": "irc_server.cli.purge:purge",
}


class LazyGroup(click.Group):
    """Commands by name, imported one at a time, and errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Whoever read the output has seen enough; click ends quietly.
            raise
        except (TreelineError, OSError) as error:
            click.echo(f"treeline: {' '.join(str(error).split()) or type(error).__name__}", err=True)
            sys.exit(1)


@click.group(cls=LazyGroup)
@click.version_option(package_name="treeline-catalog")
def main() -> None:
    """An Iceberg REST Catalog whose whole state lies in your own bucket or folder."""

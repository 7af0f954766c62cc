"""The command line: `treeline`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from catalog_format.errors import InvalidArgumentError, TreelineError

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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _errors_in_one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Ends with code 2 if the command line or a setting has to be changed, with 1 for every other error."""
    try:
        yield
    except (BrokenPipeError, NoArgsIsHelpError):
        # Whoever read the output has seen enough, and click ends quietly; or there is nothing to do but to show the help.
        raise
    except click.UsageError as error:
        command = "treeline" if error.ctx is None else error.ctx.command_path
        _end(f"{error.format_message()} (see `{command} --help`)", 2)
    except InvalidArgumentError as error:
        _end(error.message, 2)
    except (TreelineError, OSError) as error:
        _end(str(error) or type(error).__name__, 1)


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"treeline: {' '.join(message.split())}", err=True)
    sys.exit(code)


@click.group("treeline", cls=LazyGroup)
@click.version_option(package_name="treeline-catalog")
def main() -> None:
    """An Iceberg REST Catalog whose whole state lies in your own bucket or folder."""

"""Lengths of time on the command line: 90s, 30m, 12h, 7d."""

from __future__ import annotations

import re

import click

_DURATION = re.compile(r"(\d{1,9})([smhd])")
_MILLISECONDS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def milliseconds(context: click.Context, option: click.Parameter, text: str) -> int:
    """The value of an option that takes a whole number of seconds, minutes, hours or days. Raises `click.BadParameter`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is no length of time; write 90s, 30m, 12h or 7d")
    return int(match[1]) * _MILLISECONDS[match[2]]

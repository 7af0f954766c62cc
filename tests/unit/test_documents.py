"""What the documents say is so: commands, options, settings, endpoints, links, files."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import AliasChoices

from catalog_format.objects import TreeLimits
from irc_server.app import make_app
from irc_server.cli import COMMANDS, main
from irc_server.cli.check import CheckFacts
from irc_server.cli.collect import CollectFacts
from irc_server.cli.expire import ExpireFacts
from irc_server.cli.facts.actions import ActionFacts
from irc_server.cli.facts.history import RecordFacts, VersionFacts
from irc_server.cli.facts.objects import DetailedFacts, ObjectFacts
from irc_server.cli.facts.shape import LevelFacts, NodeFacts, TreeFacts
from irc_server.cli.facts.transactions import TransactionFacts
from irc_server.cli.init import InitFacts
from irc_server.cli.purge import PurgeFacts
from irc_server.error_map import STATUS_AND_TYPE
from irc_server.operations import ENDPOINTS
from irc_server.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "README.md",
    "docs/operating.md",
    "docs/settings.md",
    "docs/isolation.md",
    "docs/conformance.md",
    "docs/architecture.md",
    "docs/simulation.md",
)
_COMMAND = re.compile(r"treeline ((?:-{0,2}[a-z])[^\n`|#&]*)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ENVIRONMENT = re.compile(r"\bTREELINE_[A-Z0-9_]+\b")
_PATH = re.compile(r"`((?:catalog_format|irc_server|pipeline|spark_conf|tests|proto|perf|docs|requirements)/[\w./-]*)`")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows_below(name: str, heading: str) -> list[list[str]]:
    """Cells of the table whose first row is `heading`."""
    lines = iter(text_of(name).splitlines())
    for line in lines:
        if line.startswith(heading):
            break
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    assert rows, f"{name} has no table {heading}"
    return rows


def code_of(text: str) -> Iterator[str]:
    """What is set as code, in blocks and within lines; comments left out."""
    yield from re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def commands_in(text: str) -> list[str]:
    found = [match[1].strip() for code in code_of(text) for match in re.finditer(_COMMAND, code)]
    return [command for command in found if not command.startswith("serves")]


def check_command(line: str) -> None:
    """Walk down to the command that a line calls, then look at its options and arguments."""
    words = shlex.split(line)
    command: click.Command = main
    context = click.Context(command)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words.pop(0))
        assert found is not None, f"there is no command `treeline {line}`"
        command = found
    options = {name: option for option in command.params if isinstance(option, click.Option) for name in option.opts}
    options["--help"] = options["--version"] = click.Option(["--help"], is_flag=True)
    arguments = 0
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            arguments += 1
            continue
        assert word in options, f"`treeline {line}`: there is no option {word}"
        if not options[word].is_flag and words:
            words.pop(0)
    most = sum(isinstance(parameter, click.Argument) for parameter in command.params)
    assert arguments <= most, f"`treeline {line}`: too many arguments"


@pytest.mark.parametrize("name", NAMES)
def test_commands_that_are_shown_exist(name: str) -> None:
    for line in commands_in(text_of(name)):
        check_command(line)


def test_the_check_of_commands_notices() -> None:
    for wrong in ("no-such URL", "log URL --no-such", "dtxn list URL ID", "dtxn end URL"):
        with pytest.raises(AssertionError):
            check_command(wrong)


def test_the_readme_shows_every_command() -> None:
    shown = {line.split()[0] for line in commands_in(text_of("README.md"))}
    assert shown >= set(COMMANDS)


@pytest.mark.parametrize("name", NAMES)
def test_links_resolve(name: str) -> None:
    for target in _LINK.findall(text_of(name)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors_of(file.read_text(encoding="utf-8")), f"{name}: {target}"


def anchors_of(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_named_exist(name: str) -> None:
    for path in _PATH.findall(text_of(name)):
        assert (ROOT / path).exists(), f"{name}: {path}"


@pytest.mark.parametrize("name", NAMES)
def test_endpoints_that_are_named_exist(name: str) -> None:
    text = text_of(name)
    for method, template in re.findall(r"\b(GET|POST|HEAD|DELETE) (/[^\s`]+)", text):
        assert f"{method} {template}" in ENDPOINTS or (method == "GET" and template in paths()), f"{name}: {method} {template}"
    for path in re.findall(r"`(/(?:v1|healthz|readyz)[^`\s]*)`", text):
        assert path in paths(), f"{name}: {path}"


def paths() -> set[str]:
    """Paths of all routes, prefix included."""
    router = make_app(Settings(roots=["memory://documents"])).router
    return {re.sub(r"{(\w+):\w+}", r"{\1}", getattr(route, "path", "")) for route in router.routes}


@pytest.mark.parametrize("name", NAMES)
def test_make_targets_that_are_named_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", text_of("Makefile"), re.MULTILINE))
    for code in code_of(text_of(name)):
        assert set(re.findall(r"^make ([a-z-]+)", code, re.MULTILINE)) <= targets


def environment_of(name: str) -> list[str]:
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices if choice != name]
    return [f"TREELINE_{name.upper()}"]


@pytest.mark.parametrize("name", (*NAMES, "Dockerfile"))
def test_environment_variables_that_are_named_exist(name: str) -> None:
    known = {variable for field in Settings.model_fields for variable in environment_of(field)}
    assert set(_ENVIRONMENT.findall(text_of(name))) <= known


def test_every_setting_is_described() -> None:
    serve: Any = main.get_command(click.Context(main), "serve")
    # The option that turns a setting off is called after the setting.
    flags = {option.opts[0].removeprefix("--no-").removeprefix("--").replace("-", "_"): option.opts[0] for option in serve.params}
    flags["roots"] = flags.pop("root")
    assert flags.pop("config") == "--config" and "`--config FILE`" in text_of("docs/settings.md")
    assert flags.keys() <= Settings.model_fields.keys()
    told = {row[2].strip("`"): row for row in rows_below("docs/settings.md", "| flag ")}
    assert told.keys() == Settings.model_fields.keys()
    for name, (flag, environment, _, default, meaning) in told.items():
        assert flag.strip("`") == flags.get(name, ""), name
        assert re.findall(r"`(\w+)`", environment) == environment_of(name), name
        assert default.strip("`") == default_of(name), name
        assert meaning, name


def default_of(name: str) -> str:
    value = Settings.model_fields[name].get_default(call_default_factory=True)
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return value.value if isinstance(value, StrEnum) else str(value)


def test_other_settings_that_are_named_exist() -> None:
    units = r"`(\w+_(?:ms|mib|minutes|style))`"
    for name in NAMES:
        assert set(re.findall(units, text_of(name))) <= Settings.model_fields.keys(), name


def test_every_json_key_is_described() -> None:
    kinds: list[type[Any]] = [
        InitFacts,
        VersionFacts,
        RecordFacts,
        ActionFacts,
        ObjectFacts,
        DetailedFacts,
        TreeFacts,
        TreeLimits,
        LevelFacts,
        NodeFacts,
        TransactionFacts,
        CheckFacts,
        ExpireFacts,
        CollectFacts,
        PurgeFacts,
    ]
    told = rows_below("docs/operating.md", "| printed by ")
    assert len(told) == len(kinds)
    for (printed_by, keys), kind in zip(told, kinds, strict=True):
        assert re.findall(r"`(\w+)`", keys) == [field.name for field in dataclasses.fields(kind)], printed_by


def test_statuses_that_are_told_are_those_of_the_server() -> None:
    pairs = set(STATUS_AND_TYPE.values()) | {(500, "InternalServerError")}
    for row in rows_below("docs/operating.md", "| what happened "):
        status, kinds = int(row[1][:3]), re.findall(r"`(\w+(?:Exception|Error))`", row[1])
        assert kinds, row
        for kind in kinds:
            assert (status, kind) in pairs, row[1]


def test_the_image_is_made_of_files_that_are_there() -> None:
    let_in = {line.removeprefix("!").rstrip("/") for line in text_of(".dockerignore").splitlines() if line.startswith("!")}
    copied = set()
    for line in re.findall(r"^COPY (?!--from)(.*)$", text_of("Dockerfile"), re.MULTILINE):
        copied.update(line.split()[:-1])
    assert copied == let_in
    assert all((ROOT / path).exists() for path in copied)

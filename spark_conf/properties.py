"""Reads and joins files in the format of `spark-defaults.conf`, as Spark itself reads them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CATALOG = "treeline"
_CATALOG_KEY = f"spark.sql.catalog.{CATALOG}"

# What several files may each add to. Everything else: the last one wins.
_LISTS = frozenset({"spark.jars", "spark.jars.packages", "spark.sql.extensions"})
_PAIR = re.compile(r"(?P<key>[^\s=:]+)(?:\s*[=:]\s*|\s+)(?P<value>.*)")


def parse(text: str) -> dict[str, str]:
    """The settings in the text: `key value`, `key=value` or `key: value` lines, `#` and `!` comments, `\\` to go on."""
    settings: dict[str, str] = {}
    pending = ""
    for raw in text.splitlines():
        line = pending + raw.strip()
        pending = ""
        if not line or line[0] in "#!":
            continue
        if line.endswith("\\"):
            pending = line[:-1]
            continue
        found = _PAIR.fullmatch(line)
        if found is None:
            raise ValueError(f"Not a setting: {line!r}")
        settings[found["key"]] = found["value"].strip()
    if pending:
        raise ValueError(f"The last line goes on, and nothing follows: {pending!r}")
    return settings


def locate(name: str | Path) -> Path:
    """The file meant: a path, or the bare name of one in this folder (`local`, `treeline-s3`)."""
    path = Path(name)
    if path.is_file():
        return path
    known = FOLDER / f"{path.name.removesuffix('.conf')}.conf"
    if path.name == str(path) and known.is_file():
        return known
    names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.conf")))
    raise FileNotFoundError(f"No such settings file: {name} (a path, or one of {names})")


def join(parts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """One set of settings out of several: later ones win, lists of jars and extensions are united."""
    settings: dict[str, str] = {}
    for part in parts:
        for key, value in part.items():
            if key in _LISTS and key in settings:
                value = ",".join(dict.fromkeys(_items(settings[key]) + _items(value)))
            settings[key] = value
    return settings


def load(names: Sequence[str | Path]) -> dict[str, str]:
    """The joined settings of these files."""
    return join([parse(locate(name).read_text()) for name in names])


def override(
    settings: Mapping[str, str],
    *,
    uri: str | None = None,
    warehouse: str | None = None,
    catalog: str = CATALOG,
    master: str | None = None,
) -> dict[str, str]:
    """Put in what no file can know: where the server is, which warehouse, what to call the catalog, where Spark runs."""
    changed = {_renamed(key, catalog): value for key, value in settings.items()}
    if changed.get("spark.sql.defaultCatalog") == CATALOG:
        changed["spark.sql.defaultCatalog"] = catalog
    for key, given in (
        (f"spark.sql.catalog.{catalog}.uri", uri),
        (f"spark.sql.catalog.{catalog}.warehouse", warehouse),
        ("spark.master", master),
    ):
        if given is not None:
            changed[key] = given
    return changed


def _renamed(key: str, catalog: str) -> str:
    if key == _CATALOG_KEY or key.startswith(f"{_CATALOG_KEY}."):
        return f"spark.sql.catalog.{catalog}{key[len(_CATALOG_KEY) :]}"
    return key


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]

"""The settings files: their format, how several join, and what is put in from outside."""

from pathlib import Path

import pytest

from spark_conf import properties
from spark_conf.session import session_settings

FILES = sorted(properties.FOLDER.glob("*.conf"))


def test_the_three_ways_to_write_a_setting() -> None:
    text = "# a comment\n! another\n\nspark.a   1\nspark.b = two words\n  spark.c:http://127.0.0.1:8181/x=1\nspark.d\tlast\n"
    assert properties.parse(text) == {
        "spark.a": "1",
        "spark.b": "two words",
        "spark.c": "http://127.0.0.1:8181/x=1",
        "spark.d": "last",
    }


def test_a_setting_may_go_on_in_the_next_line() -> None:
    assert properties.parse("spark.jars.packages a:b:1,\\\n   c:d:2\n") == {"spark.jars.packages": "a:b:1,c:d:2"}


@pytest.mark.parametrize("text", ["spark.lonely", "spark.a 1,\\"])
def test_what_is_not_a_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Not a setting|goes on"):
        properties.parse(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_here_is_sound(file: Path) -> None:
    settings = properties.parse(file.read_text())
    assert settings
    assert all(key.startswith("spark.") for key in settings), "spark-submit ignores every other key"
    assert file.read_text().startswith("# "), "the first line says what the file is for"
    if file.stem != "local":
        assert settings["spark.sql.catalog.treeline.type"] == "rest"
        assert "spark.master" not in settings


def test_all_files_want_the_same_iceberg() -> None:
    wanted = {package for file in FILES for package in properties.parse(file.read_text())["spark.jars.packages"].split(",")}
    assert {package.rsplit(":", 1)[1] for package in wanted} == {"1.12.0"}


def test_later_files_win_and_lists_are_united() -> None:
    joined = properties.join(
        [
            {"spark.jars.packages": "a:b:1", "spark.ui.enabled": "false"},
            {"spark.jars.packages": "a:b:1, c:d:2", "spark.ui.enabled": "true"},
        ]
    )
    assert joined == {"spark.jars.packages": "a:b:1,c:d:2", "spark.ui.enabled": "true"}


def test_a_file_is_found_by_name_or_by_path(tmp_path: Path) -> None:
    own = tmp_path / "mine.conf"
    own.write_text("spark.a 1\n")
    assert properties.locate(own) == own
    assert properties.locate("local") == properties.FOLDER / "local.conf"
    assert properties.locate("treeline-s3.conf") == properties.FOLDER / "treeline-s3.conf"
    with pytest.raises(FileNotFoundError, match="local, treeline-folder"):
        properties.locate("nowhere")
    with pytest.raises(FileNotFoundError):
        properties.locate(tmp_path / "local")


def test_addresses_come_from_outside() -> None:
    settings = session_settings(("local", "treeline-folder"), uri="http://127.0.0.1:1", warehouse="main@latest", master="local[1]")
    assert settings["spark.sql.catalog.treeline.uri"] == "http://127.0.0.1:1"
    assert settings["spark.sql.catalog.treeline.warehouse"] == "main@latest"
    assert settings["spark.master"] == "local[1]"


def test_the_catalog_can_be_called_something_else() -> None:
    settings = session_settings(("treeline-pinned",), catalog="report", uri="http://127.0.0.1:1")
    assert settings["spark.sql.catalog.report"] == "org.apache.iceberg.spark.SparkCatalog"
    assert settings["spark.sql.catalog.report.uri"] == "http://127.0.0.1:1"
    assert settings["spark.sql.defaultCatalog"] == "report"
    assert not [key for key in settings if ".treeline" in key]


def test_nothing_is_put_in_that_was_not_given() -> None:
    settings = session_settings(("local", "treeline-folder"), extra={"spark.driver.memory": "2g"})
    assert settings["spark.sql.catalog.treeline.uri"] == "http://127.0.0.1:8181"
    assert "spark.sql.catalog.treeline.warehouse" not in settings
    assert settings["spark.driver.memory"] == "2g"

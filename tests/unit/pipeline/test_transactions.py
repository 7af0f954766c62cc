"""What Spark shows of a namespace and of an error, taken apart. Needs PySpark installed, starts nothing."""

import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        ("", {}),
        ("((status,open))", {"status": "open"}),
        ("((base-version,3), (status,refused), (version,4))", {"base-version": "3", "status": "refused", "version": "4"}),
        ("((reason,a, (b) c.), (status,refused))", {"reason": "a, (b) c.", "status": "refused"}),
        ("((comment,), (status,open))", {"comment": "", "status": "open"}),
    ],
)
def test_properties_as_spark_shows_them(shown: str, meant: dict[str, str]) -> None:
    from pipeline.transactions import parse_properties

    assert parse_properties(shown) == meant


def test_a_java_error_is_told_in_one_line() -> None:
    from pipeline.transactions import one_line

    lines = (
        "An error occurred while calling o62.sql.",
        ": org.apache.iceberg.exceptions.AlreadyExistsException: Conflict: nyc.flights changed",
        "\tat org.apache.iceberg.rest.ErrorHandlers.accept(ErrorHandlers.java:1)",
    )
    assert one_line(RuntimeError("\n".join(lines))) == "Conflict: nyc.flights changed"


def test_other_errors_keep_their_first_line() -> None:
    from pipeline.transactions import one_line

    assert (
        one_line(RuntimeError("[SCHEMA_NOT_FOUND] The schema cannot be found.\nVerify")) == "[SCHEMA_NOT_FOUND] The schema cannot be found."
    )
    assert one_line(RuntimeError()) == "RuntimeError"

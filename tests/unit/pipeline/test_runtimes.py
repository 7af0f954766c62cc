"""The settings files name one Iceberg runtime; each line of Spark gets its own."""

import pytest

from spark_conf import properties
from spark_conf.runtimes import fitting

AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"


def wanted() -> list[str]:
    return properties.load(["treeline-s3"])["spark.jars.packages"].split(",")


def test_the_newest_line_takes_what_the_files_name() -> None:
    assert fitting(wanted(), "4.1.4") == wanted()


def test_an_older_line_takes_its_own_of_the_same_version() -> None:
    assert fitting(wanted(), "3.5.9") == ["org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0", AWS]


def test_a_line_without_a_runtime_is_named() -> None:
    with pytest.raises(ValueError, match=r"No Iceberg runtime is known here for Spark 4\.3\.0: install PySpark 4\.1 or 3\.5"):
        fitting(wanted(), "4.3.0")
    assert fitting([AWS], "4.3.0") == [AWS]

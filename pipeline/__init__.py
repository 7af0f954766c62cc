"""PySpark jobs over an Iceberg REST Catalog whose transactions are namespace commands.

Nothing here knows more than SQL and a URL: the same jobs run against any such catalog and any Spark master.
"""

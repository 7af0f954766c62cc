"""Joining two changes of one table, at builder level: files are written by `tests.support.snapshot_writer`."""

"""Distributed transactions: a log of write-once states that any process continues."""

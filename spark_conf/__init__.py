"""Spark settings for Treeline: one `.conf` file per scenario, and what turns them into a session."""

"""The Treeline catalog format and its embedded library."""

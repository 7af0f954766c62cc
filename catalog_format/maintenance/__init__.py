"""Looking after a catalog as a whole."""

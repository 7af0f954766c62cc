"""Scopes: the operations on names, over the latest version, a past one, or a transaction."""

"""Iceberg's REST Compatibility Kit (RCK) against `treeline serve`. docs/conformance.md tells what is run and what is not."""

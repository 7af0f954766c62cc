"""Committed generated files are what their sources generate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["catalog_pb2", "transaction_pb2"])
def test_protobuf_code_matches_its_source(name: str, tmp_path: Path) -> None:
    sources = [str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto")]
    command = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", *sources]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    for ending in (".py", ".pyi"):
        relative = Path("catalog_format/pb") / f"{name}{ending}"
        assert (ROOT / relative).read_text() == (tmp_path / relative).read_text(), f"{relative} is out of date: run `make proto`"

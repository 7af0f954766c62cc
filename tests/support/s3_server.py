"""An S3 server for tests and demos: MinIO where a Docker engine answers, otherwise moto in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import botocore.session
from botocore.config import Config

_REPOSITORY = Path(__file__).resolve().parents[2]
_MOTO_PYTHON = _REPOSITORY / ".venv-s3" / "bin" / "python"
_MOTO_SCRIPT = Path(__file__).with_name("s3_app.py")
_MINIO_IMAGE = "minio/minio:RELEASE.2025-09-07T16-13-09Z"
_MINIO_PORT = 9000


class S3Server:
    """A running server and how to reach it."""

    region = "us-east-1"
    access_key = "treeline-test"
    secret_key = "treeline-test-secret"

    def __init__(self, name: str, endpoint: str) -> None:
        """`name`: which software it is; `endpoint`: its URL without a trailing slash."""
        self.name = name
        self.endpoint = endpoint

    @property
    def options(self) -> dict[str, str]:
        """What `open_storage` needs to reach it."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.region": self.region,
            "s3.access-key-id": self.access_key,
            "s3.secret-access-key": self.secret_key,
            "s3.path-style-access": "true",
        }

    def create_bucket(self, name: str) -> None:
        """Create a bucket that does not exist yet."""
        with self.client() as client:
            client.create_bucket(Bucket=name)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A synchronous botocore client, for what the storage protocol does not offer."""
        client = botocore.session.get_session().create_client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}),
        )
        try:
            yield client
        finally:
            client.close()


@contextmanager
def running_s3_server() -> Iterator[S3Server]:
    """A server for the block's duration. Raises `RuntimeError` if neither Docker nor the moto environment is there."""
    with ExitStack() as stack:
        yield _minio(stack) or _moto(stack)


def _moto(stack: ExitStack) -> S3Server:
    if not _MOTO_PYTHON.exists():
        raise RuntimeError("the S3 test server is not installed: run `make env-s3`")
    process = stack.enter_context(
        subprocess.Popen([_MOTO_PYTHON, _MOTO_SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    )
    assert process.stdin is not None and process.stdout is not None
    # The server ends when this pipe does, which the kernel closes even if this process is killed.
    stack.callback(process.stdin.close)
    port = process.stdout.readline().strip()
    if not port:
        raise RuntimeError(f"the S3 test server did not start; to see why: {_MOTO_PYTHON} {_MOTO_SCRIPT} </dev/null")
    return S3Server("moto", f"http://127.0.0.1:{int(port)}")


def _minio(stack: ExitStack) -> S3Server | None:
    """MinIO in a container; None if there is no Docker engine, or it cannot start the image."""
    if not _docker_answers():
        return None
    from docker.errors import DockerException
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy

    container = (
        DockerContainer(_MINIO_IMAGE)
        .with_command("server /data")
        .with_env("MINIO_ROOT_USER", S3Server.access_key)
        .with_env("MINIO_ROOT_PASSWORD", S3Server.secret_key)
        .with_exposed_ports(_MINIO_PORT)
        .waiting_for(HttpWaitStrategy(_MINIO_PORT, "/minio/health/ready"))
    )
    try:
        container.start()
    except (DockerException, TimeoutError) as error:
        warnings.warn(f"Docker answers, but MinIO does not start ({error}); using moto", RuntimeWarning, stacklevel=2)
        return None
    stack.callback(container.stop)
    return S3Server("minio", f"http://{container.get_container_host_ip()}:{container.get_exposed_port(_MINIO_PORT)}")


def _docker_answers() -> bool:
    # In a process of its own: where no engine answers, the client leaves sockets open, and warnings are errors here.
    ping = [sys.executable, "-c", "import docker; docker.from_env(timeout=2).ping()"]
    try:
        return subprocess.run(ping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False

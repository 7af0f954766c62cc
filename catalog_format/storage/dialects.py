"""S3, Google Cloud Storage and Azure: their fsspec file systems, options and errors."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from catalog_format.errors import InvalidArgumentError
from catalog_format.storage.fsspec_store import Answer
from catalog_format.storage.protocol import Page

# No caches anywhere (a file that was absent may exist now), and no instance shared between stores or loops.
_UNCACHED = {"asynchronous": True, "use_listings_cache": False, "skip_instance_cache": True}


class S3Dialect:
    """S3 and what speaks its protocol, through s3fs. Credentials that are not given come from the AWS environment."""

    # One connection a file: s3fs would ask for the size first, to split what it reads or writes.
    write_options: dict[str, Any] = {"max_concurrency": 1}

    _OPTIONS = {
        "s3.endpoint": "endpoint_url",
        "s3.access-key-id": "key",
        "s3.secret-access-key": "secret",
        "s3.session-token": "token",
    }

    def __init__(self, options: Mapping[str, str]) -> None:
        self._s3fs = _library("s3fs", "s3")
        self._errors = importlib.import_module("botocore.exceptions")
        session = importlib.import_module("catalog_format.storage.s3_session").WriteOnceSession
        given = _given(options, "s3.", {*self._OPTIONS, "s3.region", "s3.path-style-access"})
        # Servers under a name of their own rarely have one DNS name for each bucket.
        path_style = _truth("s3.path-style-access", given.pop("s3.path-style-access", "true" if "s3.endpoint" in given else "false"))
        region = given.pop("s3.region", None)
        self._arguments: dict[str, Any] = {
            **{self._OPTIONS[name]: value for name, value in given.items()},
            "client_kwargs": {"region_name": region} if region else {},
            "config_kwargs": {
                "s3": {"addressing_style": "path" if path_style else "auto"},
                # A retried put-if-absent would meet its own file and report a loss; whoever publishes reads back instead.
                "retries": {"total_max_attempts": 1, "mode": "standard"},
                "http_session_cls": session,
                "max_pool_connections": 64,
            },
            "max_concurrency": 1,
        }

    def file_system(self, loop: asyncio.AbstractEventLoop) -> Any:
        file_system = self._s3fs.S3FileSystem(loop=loop, **self._arguments, **_UNCACHED)
        # s3fs has a retry loop of its own around botocore's: one turn of it, for the same reason.
        file_system.retries = 1
        return file_system

    async def exists(self, file_system: Any, name: str) -> bool:
        bucket, key, _ = file_system.split_path(name)
        await file_system._call_s3("head_object", Bucket=bucket, Key=key)
        return True

    async def pages(self, file_system: Any, folder: str) -> AsyncGenerator[Page, None]:
        # s3fs has no listing that lets go of a page's entries, some 800 bytes each.
        bucket, key, _ = file_system.split_path(folder)
        start: dict[str, str] = {}
        while True:
            said = await file_system._call_s3("list_objects_v2", Bucket=bucket, Prefix=f"{key}/" if key else "", **start)
            yield [f"{bucket}/{entry['Key']}" for entry in said.get("Contents", [])]
            if not said.get("IsTruncated"):
                return
            start = {"ContinuationToken": said["NextContinuationToken"]}

    async def clock_ms(self, file_system: Any, name: str) -> int | None:
        bucket, key, _ = file_system.split_path(name)
        try:
            said = await file_system._call_s3("head_object", Bucket=bucket, Key=key)
        except FileNotFoundError as error:
            said = getattr(error.__cause__, "response", {})
        date = said.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        return None if date is None else round(parsedate_to_datetime(date).timestamp() * 1000)

    async def close(self, file_system: Any) -> None:
        await (await file_system.set_session()).close()

    def answer(self, error: BaseException) -> Answer | None:
        if not isinstance(error, self._errors.ClientError):
            return None
        response: dict[str, Any] = error.response
        return Answer(response.get("ResponseMetadata", {}).get("HTTPStatusCode"), response.get("Error", {}).get("Code"))

    def refused_locally(self, error: BaseException) -> bool:
        return isinstance(
            error, self._errors.NoCredentialsError | self._errors.PartialCredentialsError | self._errors.CredentialRetrievalError
        )


class GcsDialect:
    """Google Cloud Storage through gcsfs (not installed by default)."""

    write_options: dict[str, Any] = {}

    _OPTIONS = {"gcs.project-id": "project", "gcs.oauth2.token": "token", "gcs.service.host": "endpoint_url"}

    def __init__(self, options: Mapping[str, str]) -> None:
        self._gcsfs = _library("gcsfs", "gs")
        self._http_error: type[Exception] = importlib.import_module("gcsfs.retry").HttpError
        self._arguments = {self._OPTIONS[name]: value for name, value in _given(options, "gcs.", set(self._OPTIONS)).items()}

    def file_system(self, loop: asyncio.AbstractEventLoop) -> Any:
        return self._gcsfs.GCSFileSystem(loop=loop, **self._arguments, **_UNCACHED)

    async def exists(self, file_system: Any, name: str) -> bool:
        bucket, key, _ = file_system.split_path(name)
        await file_system._call("GET", "b/{}/o/{}", bucket, key, json_out=True)
        return True

    async def pages(self, file_system: Any, folder: str) -> AsyncGenerator[Page, None]:
        # gcsfs has no listing that lets go of a page's entries, and ends its own at ten million without a word.
        bucket, key, _ = file_system.split_path(folder)
        start: dict[str, str] = {"prefix": f"{key}/"} if key else {}
        while True:
            said = await file_system._call("GET", "b/{}/o", bucket, json_out=True, **start)
            yield [f"{bucket}/{item['name']}" for item in said.get("items", [])]
            if not said.get("nextPageToken"):
                return
            start["pageToken"] = said["nextPageToken"]

    async def clock_ms(self, file_system: Any, name: str) -> int | None:
        return None

    async def close(self, file_system: Any) -> None:
        await (await file_system._set_session()).close()

    def answer(self, error: BaseException) -> Answer | None:
        if not isinstance(error, self._http_error):
            return None
        status = getattr(error, "code", None)
        return Answer(int(status) if status else None, None)

    def refused_locally(self, error: BaseException) -> bool:
        return False


class AzureDialect:
    """Azure Blob Storage through adlfs (not installed by default)."""

    write_options: dict[str, Any] = {"max_concurrency": 1}

    _OPTIONS = {
        "adls.connection-string": "connection_string",
        "adls.account-name": "account_name",
        "adls.account-key": "account_key",
        "adls.account-host": "account_host",
        "adls.sas-token": "sas_token",
        "adls.tenant-id": "tenant_id",
        "adls.client-id": "client_id",
        "adls.client-secret": "client_secret",
    }

    def __init__(self, options: Mapping[str, str], account: str) -> None:
        """`account`: the storage account that the URL names, "" to take it from the options or the environment."""
        self._adlfs = _library("adlfs", "abfss")
        self._http_error: type[Exception] = importlib.import_module("azure.core.exceptions").HttpResponseError
        self._arguments: dict[str, Any] = {"account_name": account} if account else {}
        self._arguments |= {self._OPTIONS[name]: value for name, value in _given(options, "adls.", set(self._OPTIONS)).items()}

    def file_system(self, loop: asyncio.AbstractEventLoop) -> Any:
        return self._adlfs.AzureBlobFileSystem(loop=loop, **self._arguments, **_UNCACHED)

    async def exists(self, file_system: Any, name: str) -> bool:
        container, blob, _ = file_system.split_path(name)
        async with file_system.service_client.get_blob_client(container, blob) as client:
            return bool(await client.exists())

    async def pages(self, file_system: Any, folder: str) -> AsyncGenerator[Page, None]:
        container, _, below = folder.partition("/")
        async with file_system.service_client.get_container_client(container) as client:
            async for blobs in client.list_blobs(name_starts_with=f"{below}/" if below else None).by_page():
                yield [f"{container}/{blob.name}" async for blob in blobs]

    async def clock_ms(self, file_system: Any, name: str) -> int | None:
        return None

    async def close(self, file_system: Any) -> None:
        await file_system.service_client.close()

    def answer(self, error: BaseException) -> Answer | None:
        if not isinstance(error, self._http_error):
            return None
        code = getattr(error, "error_code", None)
        return Answer(getattr(error, "status_code", None), code and str(getattr(code, "value", code)))

    def refused_locally(self, error: BaseException) -> bool:
        return False


def _library(name: str, scheme: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InvalidArgumentError(f"{scheme}:// URLs need the package {name}: {error}") from error


def _given(options: Mapping[str, str], prefix: str, known: set[str]) -> dict[str, str]:
    """The options that are this service's; a misspelled one is refused, others' are passed over."""
    given = {name: value for name, value in options.items() if name.startswith(prefix)}
    if unknown := given.keys() - known:
        raise InvalidArgumentError(f"unknown storage options {sorted(unknown)}; known are {sorted(known)}")
    return given


def _truth(name: str, value: str) -> bool:
    if value.lower() not in {"true", "false"}:
        raise InvalidArgumentError(f"{name} must be true or false, not {value!r}")
    return value.lower() == "true"

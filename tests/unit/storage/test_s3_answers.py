"""What each answer of an S3 service becomes, with the real client against a server that says what it is told to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from catalog_format.errors import NotACatalogError, StoreDeniedError, StoreFullError, StoreThrottledError, UnsupportedError
from catalog_format.storage import Storage, open_storage
from tests.unit.storage.canned_s3 import Reply, canned_s3

Verb = Callable[[Storage], Awaitable[object]]


async def _put(store: Storage) -> object:
    return await store.put_if_absent("a", b"x")


async def _replace(store: Storage) -> object:
    return await store.replace("a", b"x")


async def _get(store: Storage) -> object:
    return await store.get("a")


async def _list(store: Storage) -> object:
    return await store.list("a")


async def _delete(store: Storage) -> object:
    return await store.delete("a")


async def _exists(store: Storage) -> object:
    return await store.exists("a")


_VERBS = [_put, _replace, _get, _list, _delete, _exists]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(409, "ConditionalRequestConflict"), OSError),
        (Reply(500, "InternalError"), OSError),
        (Reply(503, "ServiceUnavailable"), OSError),
        (Reply(502, body=b"<html>a proxy says"), OSError),
        (Reply(400, "RequestTimeout"), OSError),
        (Reply(400, "SomethingNew"), OSError),
        (Reply(503, "SlowDown"), StoreThrottledError),
        (Reply(429, "TooManyRequests"), StoreThrottledError),
        (Reply(400, "ThrottlingException"), StoreThrottledError),
        (Reply(403, "AccessDenied"), StoreDeniedError),
        (Reply(403, "SignatureDoesNotMatch"), StoreDeniedError),
        (Reply(403, "SomethingNew"), StoreDeniedError),
        (Reply(401, "Unauthorized"), StoreDeniedError),
        (Reply(404, "NoSuchBucket"), NotACatalogError),
        (Reply(507, "XMinioStorageFull"), StoreFullError),
        (Reply(501, "NotImplemented"), UnsupportedError),
    ],
    ids=lambda value: f"{value.status}-{value.code}" if isinstance(value, Reply) else value.__name__,
)
@pytest.mark.parametrize("verb", [_put, _get], ids=["put_if_absent", "get"])
async def test_errors_by_code_and_one_request_each(reply: Reply, error: type[Exception], verb: Verb) -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(reply)
        with pytest.raises(error) as raised:
            await verb(store)
        assert type(raised.value) is error
        assert len(canned.requests) == 1


async def test_the_missing_bucket_is_named() -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(Reply(404, "NoSuchBucket"))
        with pytest.raises(NotACatalogError, match=r"'bucket'.*does not exist"):
            await store.get("a")


async def test_a_lost_put_is_false() -> None:
    async with canned_s3() as (canned, store):
        canned.replies.extend([Reply(412, "PreconditionFailed"), Reply(200), Reply(412)])
        assert await store.put_if_absent("a", b"x") is False
        assert await store.put_if_absent("a", b"x") is True
        # Some servers answer 412 without a body.
        assert await store.put_if_absent("a", b"x") is False
        assert [(method, headers.get("if-none-match")) for method, headers in canned.requests] == [("PUT", "*")] * 3


async def test_an_overwrite_has_no_condition() -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(Reply(200))
        await store.replace("a", b"x")
        assert "if-none-match" not in canned.requests[0][1]


@pytest.mark.parametrize(
    ("verb", "reply", "method"),
    [
        (_put, Reply(200), "PUT"),
        (_replace, Reply(200), "PUT"),
        (_get, Reply(200, body=b"x"), "GET"),
        (_list, Reply(200, body=b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"), "GET"),
        (_delete, Reply(204), "DELETE"),
        (_exists, Reply(200), "HEAD"),
        (_exists, Reply(404), "HEAD"),
        (_delete, Reply(404, "NoSuchKey"), "DELETE"),
    ],
)
async def test_every_verb_is_one_request(verb: Verb, reply: Reply, method: str) -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(reply)
        await verb(store)
        assert [sent for sent, _ in canned.requests] == [method]


@pytest.mark.parametrize(("status", "error"), [(403, StoreDeniedError), (429, StoreThrottledError), (500, OSError), (503, OSError)])
async def test_a_head_has_only_a_status(status: int, error: type[Exception]) -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(Reply(status))
        with pytest.raises(error):
            await store.exists("a")


async def test_a_get_without_a_file() -> None:
    async with canned_s3() as (canned, store):
        canned.replies.append(Reply(404, "NoSuchKey"))
        with pytest.raises(FileNotFoundError, match="s3://bucket/root/a"):
            await store.get("a")


@pytest.mark.parametrize("verb", [_put, _replace], ids=["put_if_absent", "replace"])
@pytest.mark.parametrize("answered_before", [False, True], ids=["new connection", "reused connection"])
async def test_a_put_on_a_broken_connection_is_not_repeated(verb: Verb, answered_before: bool) -> None:
    """A repetition would meet what the first one wrote, and call it somebody else's."""
    async with canned_s3() as (canned, store):
        if answered_before:
            canned.replies.append(Reply(200))
            await verb(store)
        canned.replies.extend([Reply(0), Reply(412, "PreconditionFailed")])
        with pytest.raises(OSError, match="ConnectionClosedError") as raised:
            await verb(store)
        assert type(raised.value) is OSError
        assert [method for method, _ in canned.requests] == ["PUT"] * (1 + answered_before)


async def test_a_get_on_a_broken_connection_is_repeated_once() -> None:
    async with canned_s3() as (canned, store):
        canned.replies.extend([Reply(0), Reply(200, body=b"x"), Reply(0), Reply(0)])
        assert await store.get("a") == b"x"
        with pytest.raises(OSError, match="ConnectionClosedError"):
            await store.get("a")


async def test_without_credentials_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = open_storage("s3://bucket", {"s3.endpoint": "http://127.0.0.1:9"})
    with pytest.raises(StoreDeniedError, match="NoCredentials"):
        await store.get("a")
    await store.close()


async def test_nobody_listens() -> None:
    store = open_storage("s3://bucket", {"s3.endpoint": "http://127.0.0.1:9", "s3.access-key-id": "k", "s3.secret-access-key": "s"})
    for verb in _VERBS:
        with pytest.raises(OSError, match="EndpointConnectionError") as raised:
            await verb(store)
        assert type(raised.value) is OSError
    await store.close()


async def test_a_listing_holds_one_page_at_a_time() -> None:
    def listed(names: list[str], following: str) -> Reply:
        contents = "".join(f"<Contents><Key>root/{name}</Key><Size>1</Size></Contents>" for name in names)
        truncated = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{following}</NextContinuationToken>"
        end = truncated if following else "<IsTruncated>false</IsTruncated>"
        return Reply(200, body=f"<ListBucketResult>{contents}{end}</ListBucketResult>".encode())

    async with canned_s3() as (canned, store):
        canned.replies.extend([listed(["a", "b"], "next"), listed(["c", "folder/"], "")])
        pages = store.pages("")
        assert await anext(pages) == ["a", "b"]
        assert len(canned.requests) == 1, "the next page is asked for when it is wanted"
        assert [page async for page in pages] == [["c"]]
        assert len(canned.requests) == 2
        canned.replies.extend([listed(["a", "b"], "next"), Reply(503, "SlowDown")])
        with pytest.raises(StoreThrottledError):
            await store.list("")

"""What only a process of its own can show about a local store: few rights, little room, sudden death.

`python -m tests.unit.storage.local_process denied|cramped|full|endless FOLDER`
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

from catalog_format.storage import LocalStorage

_NOBODY = 65534


async def _report(store: LocalStorage, data: bytes) -> None:
    """Print how each verb ends, one line each."""
    for name, attempt in {
        "get": store.get("held/file"),
        "exists": store.exists("held/file"),
        "list": store.list("held"),
        "put_if_absent": store.put_if_absent("held/new", data),
        "put_in_new_folder": store.put_if_absent("held/folder/new", data),
        "replace": store.replace("held/file", data),
        "delete": store.delete("held/file"),
    }.items():
        try:
            print(name, await attempt)
        except Exception as error:
            print(name, type(error).__name__)


def denied(folder: str) -> None:
    """Runs as a user whom permissions bind."""
    # What a thread needs is imported while this user may still read the interpreter's files.
    asyncio.run(asyncio.to_thread(int))
    if os.getuid() == 0:
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    asyncio.run(_report(LocalStorage(folder), b"new"))


def cramped(folder: str) -> None:
    """No file may exceed 64 KiB; a write fails in the middle."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
    asyncio.run(_report(LocalStorage(folder), bytes(200_000)))


def full(folder: str) -> None:
    """`folder` lies on a file system of 256 KiB."""
    asyncio.run(_report(LocalStorage(folder), bytes(1_000_000)))


def endless(folder: str) -> None:
    """Writes until it is killed; names each file after it was acknowledged."""

    async def write() -> None:
        store = LocalStorage(folder)
        number = 0
        while True:
            together = range(number, number + 4)
            await asyncio.gather(*(store.put_if_absent(f"vn/{one}", b"%08d" % one * 100_000) for one in together))
            number += 4
            print(number, flush=True)

    asyncio.run(write())


if __name__ == "__main__":
    {"denied": denied, "cramped": cramped, "full": full, "endless": endless}[sys.argv[1]](sys.argv[2])

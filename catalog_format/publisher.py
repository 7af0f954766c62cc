"""Publishing: the one put-if-absent that makes a version."""

from __future__ import annotations

from catalog_format import paths
from catalog_format.clock import Clock
from catalog_format.exclusive_put import ExclusivePut
from catalog_format.ids import Ids
from catalog_format.node import Root
from catalog_format.storage import Storage
from catalog_format.version_log import VersionLog


class Publisher:
    """Puts roots."""

    def __init__(self, storage: Storage, log: VersionLog, clock: Clock, ids: Ids) -> None:
        self._put = ExclusivePut(storage, clock, ids).put
        self._log = log

    async def publish(self, version: int, data: bytes, attempt_id: str, deadline: float) -> Root | None:
        """None if this attempt's root is now `version`; else the root that took its place. Raises as `ExclusivePut.put`."""
        return await self._put(
            paths.root_path(version),
            f"version {version}",
            data,
            attempt_id,
            deadline,
            lambda: self._log.find(version),
            lambda root: root.header.attempt_id,
        )

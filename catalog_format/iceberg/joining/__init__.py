"""Two changes of one table joined at file level: snapshots made on one state are put on top of another.

No data file is rewritten; manifests are only where two changes met in them.
"""

from __future__ import annotations

from catalog_format.iceberg.joining.joiner import Joined, TableJoiner
from catalog_format.iceberg.joining.manifest_reader import ManifestReader
from catalog_format.iceberg.metadata_state import NewFile

__all__ = ["Joined", "ManifestReader", "NewFile", "TableJoiner"]

"""A client that commits until it is told to stop, and writes down what it was told.

Each commit sets one property on two tables at once and names itself in its user agent, which the catalog records with
the version. As a process of its own: `python -m tests.support.commit_worker NAME LEDGER URL…`.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

TABLES = ("a", "b")
_TIMEOUT_SECONDS = 30.0


class Worker:
    """Goes round the servers, one commit after the other; a line of the ledger says how each ended."""

    def __init__(self, name: str, ledger: Path, urls: list[str]) -> None:
        self._name = name
        self._ledger = ledger
        self.urls = urls
        self.stop = threading.Event()
        self.acknowledged = 0

    def run(self) -> None:
        number = 0
        with self._ledger.open("a") as ledger:
            while not self.stop.is_set():
                number += 1
                commit = f"{self._name}-{number}"
                outcome = self._commit(commit, self.urls[number % len(self.urls)])
                self.acknowledged += outcome == "acknowledged"
                ledger.write(f"{commit} {outcome}\n")
                ledger.flush()

    def _commit(self, commit: str, url: str) -> str:
        changes = [
            {
                "identifier": {"namespace": ["ns"], "name": table},
                "requirements": [],
                "updates": [{"action": "set-properties", "updates": {commit: "1"}}],
            }
            for table in TABLES
        ]
        headers = {"Content-Type": "application/json", "User-Agent": commit}
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("POST", "/v1/treeline/transactions/commit", json.dumps({"table-changes": changes}), headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return "unknown"
        finally:
            connection.close()
        if status == 204:
            return "acknowledged"
        return "refused" if status in {409, 429} else "unknown"


if __name__ == "__main__":
    Worker(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]).run()

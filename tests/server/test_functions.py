"""Functions: none can be made yet, and so none are there."""

from __future__ import annotations

import pytest

from tests.server.harness import ROOT, Client, begin, done, inside, make_table, path, refused

EMPTY = {"identifiers": [], "next-page-token": None}


@pytest.mark.parametrize("query", [{}, {"pageToken": ""}, {"pageToken": "", "pageSize": "1"}, {"unknown": "x"}])
async def test_a_namespace_has_no_functions(ns: Client, query: dict[str, str]) -> None:
    await begin(ns, "x")
    for namespace in (("ns",), inside("x", "ns"), ("sys",), ("sys", "dtxns")):
        assert done(await ns.get(f"{path(*namespace)}/functions", params=query)) == EMPTY
    assert done(await ns.get(f"{path('ns', prefix=f'{ROOT}@v1')}/functions", params=query)) == EMPTY


@pytest.mark.parametrize("namespace", [("no",), ("sys", "x"), inside("nobody", "ns")])
async def test_a_namespace_that_is_not_there_has_no_listing(ns: Client, namespace: tuple[str, ...]) -> None:
    for target in ("functions", "functions/f"):
        refused(await ns.get(f"{path(*namespace)}/{target}"), 404, "NoSuchNamespaceException", "Namespace does not exist")


async def test_before_it_was_made_a_namespace_is_not_there(ns: Client) -> None:
    refused(await ns.get(f"{path('ns', prefix=f'{ROOT}@v0')}/functions"), 404, "NoSuchNamespaceException")


async def test_paging_is_checked_as_in_other_listings(ns: Client) -> None:
    refused(await ns.get(f"{path('ns')}/functions", params={"pageToken": "made up"}), 400, "BadRequestException", "Page token")
    refused(await ns.get(f"{path('ns')}/functions", params={"pageToken": "", "pageSize": "0"}), 400, "BadRequestException", "pageSize")


async def test_no_function_can_be_loaded(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    for name in ("f", "t", "a.b", "a%2Fb"):
        message = refused(await ns.get(f"{path('ns')}/functions/{name}"), 404, "NoSuchFunctionException", "Function does not exist: ns.")
        assert message.endswith(name.replace("%2F", "/"))
    assert (await ns.head(f"{path('ns')}/functions/f")).status_code == 404

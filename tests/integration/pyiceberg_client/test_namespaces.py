"""Namespaces through PyIceberg: several levels, names that are hard on paths, properties, and lists that come in pages."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError, RESTError

from tests.integration.pyiceberg_client.conftest import Site, ids_of, numbers

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

STRANGE = ("with space", "dot.ted", "slash/ed", "per%cent", "\u00e4\u6c34\U0001f333", "plus+&=?#", "%2F")


def test_levels_and_properties(site: Site) -> None:
    catalog = site.catalog
    catalog.create_namespace(site.name("a"), {"team": "red", "level": "1"})
    catalog.create_namespace(site.name("a", "b"))
    catalog.create_namespace(site.name("a", "b", "c", "d")[: len(site.namespace) + 3])
    catalog.create_namespace_if_not_exists(site.name("a", "b"))
    with pytest.raises(NamespaceAlreadyExistsError, match="already exists"):
        catalog.create_namespace(site.name("a"))
    with pytest.raises(RESTError, match="does not exist"):
        catalog.create_namespace(site.name("no", "parent"))
    changed = catalog.update_namespace_properties(site.name("a"), removals={"team", "never"}, updates={"level": "2", "owner": "me"})
    assert (set(changed.updated), changed.removed, changed.missing) == ({"level", "owner"}, ["team"], ["never"])
    catalog.create_table(site.name("a", "b", "c", "t"), numbers().schema).append(numbers(1))
    catalog.create_namespace(site.name("short"))
    catalog.drop_namespace(site.name("short"))
    for place in site.states():
        assert place.catalog.list_namespaces(place.namespace) == [place.name("a")]
        assert place.catalog.list_namespaces(place.name("a")) == [place.name("a", "b")]
        assert place.catalog.list_namespaces(place.name("a", "b")) == [place.name("a", "b", "c")]
        assert place.catalog.load_namespace_properties(place.name("a")) == {"level": "2", "owner": "me"}
        assert ids_of(place.load("a", "b", "c", "t")) == [1]
        assert place.catalog.namespace_exists(place.name("a", "b", "c")) and not place.catalog.namespace_exists(place.name("short"))
        for full in (("a",), ("a", "b", "c")):
            with pytest.raises(NamespaceNotEmptyError, match="not empty"):
                place.catalog.drop_namespace(place.name(*full))
        for call in (place.catalog.load_namespace_properties, place.catalog.list_namespaces, place.catalog.list_tables):
            with pytest.raises(NoSuchNamespaceError, match="does not exist"):
                call(place.name("short"))


def test_names_that_are_hard_on_paths(site: Site) -> None:
    for level in STRANGE:
        site.catalog.create_namespace(site.name(level), {"is": level})
        site.catalog.create_table(site.name(level, level), numbers().schema).append(numbers(len(level)))
    for place in site.states():
        assert set(place.catalog.list_namespaces(place.namespace)) == {place.name(level) for level in STRANGE}
        for level in STRANGE:
            assert place.catalog.load_namespace_properties(place.name(level)) == {"is": level}
            assert place.catalog.list_tables(place.name(level)) == [place.name(level, level)]
            assert ids_of(place.load(level, level)) == [len(level)]


def test_lists_come_in_pages(site: Site) -> None:
    names = [f"n{number}" for number in range(7)]
    for name in names:
        site.catalog.create_namespace(site.name("lists", name) if name != names[0] else site.name("lists"))
        site.catalog.create_table(site.name("lists", f"t{name}"), numbers().schema)
    for place in site.states():
        for size in ("1", "3", "6", "100"):
            with place.again(**{"rest-page-size": size}) as paged:
                assert paged.catalog.list_namespaces(paged.name("lists")) == [paged.name("lists", name) for name in names[1:]]
                assert paged.catalog.list_tables(paged.name("lists")) == [paged.name("lists", f"t{name}") for name in names]
                assert paged.catalog.list_views(paged.name("lists")) == []

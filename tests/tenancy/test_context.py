"""use() and current(): the active tenant of a thread or task."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connections

from dms_project.tenancy import PUBLIC, TenantNotFound, current, use
from tests.tenancy.sessions import mark, marks, schema_in_force


def test_no_tenant_is_active_at_first(db):
    assert current() == PUBLIC
    assert schema_in_force() == "public"


def test_blocks_nest_and_each_ends_where_it_began(db):
    with use("acme"):
        with use("globex"):
            with use(PUBLIC):
                assert schema_in_force() == current() == "public"
            assert schema_in_force() == current() == "globex"
        assert schema_in_force() == current() == "acme"
    assert schema_in_force() == current() == "public"


def test_an_exception_ends_the_block(db):
    with pytest.raises(ZeroDivisionError), use("acme"):
        raise ZeroDivisionError(schema_in_force())
    assert schema_in_force() == current() == "public"


@pytest.mark.parametrize("name", ["nobody", "ACME", "acme ", "", "extensions", "information_schema", "pg_catalog", '"'])
def test_an_unknown_tenant_is_refused_at_the_door(db, name):
    with pytest.raises(TenantNotFound, match="no tenant"), use(name):
        pytest.fail("entered")
    assert current() == PUBLIC


def test_a_new_thread_has_no_tenant(db):
    seen = []
    with use("acme"):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [PUBLIC]


def test_threads_work_for_their_own_tenants(committed_db):
    mark("acme", "globex")

    def work(number):
        name = ("acme", "globex")[number % 2]
        try:
            with use(name):
                return [marks() for _ in range(20)] == [[name]] * 20
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))


def test_two_hundred_tasks_on_one_connection_each_see_their_own_tenant(committed_db):
    mark("acme", "globex")

    async def work(name):
        with use(name):
            await asyncio.sleep(0)
            assert (await Group.objects.afirst()).name == name
            await asyncio.sleep(0)
            return [group.name async for group in Group.objects.all()] == [name]

    async def gather():
        try:
            return await asyncio.gather(*(work(("acme", "globex")[number % 2]) for number in range(200)))
        finally:
            await sync_to_async(connections.close_all)()

    assert all(asyncio.run(gather()))


def test_in_an_event_loop_an_unknown_tenant_is_refused_at_its_first_statement(committed_db):
    async def work():
        try:
            with use("nobody"):
                await Group.objects.acount()
        finally:
            await sync_to_async(connections.close_all)()

    with pytest.raises(TenantNotFound, match="nobody"):
        asyncio.run(work())


def test_in_an_event_loop_a_schema_that_is_no_tenants_is_refused_too(committed_db):
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA billing")

    async def work():
        try:
            with use("billing"):
                await Group.objects.acount()
        finally:
            await sync_to_async(connections.close_all)()

    try:
        with pytest.raises(TenantNotFound, match="billing"):
            asyncio.run(work())
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA billing")

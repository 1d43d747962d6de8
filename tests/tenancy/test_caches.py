"""What outlives a tenant's block is kept by tenant."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType, ContentTypeManager
from django.core.cache import cache
from django.db import connection

from dms_project.tenancy import PUBLIC, use
from dms_project.tenancy.caches import MAX_TENANTS, PerTenant, forget_content_types
from dms_project.tenancy.schemas import create_tenant, delete_tenant


@pytest.fixture
def moved_ids(db):
    """Give globex other ids for its content types than acme has."""
    with use("globex"), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("UPDATE auth_permission SET content_type_id = content_type_id + 1000")
        cursor.execute("UPDATE django_content_type SET id = id + 1000")
        ContentType.objects.clear_cache()
    yield
    with use("globex"):
        ContentType.objects.clear_cache()


def id_of(model):
    return ContentType.objects.get_for_model(model).pk


def test_content_types_have_each_tenants_own_ids(moved_ids):
    for _ in range(2):
        with use("acme"):
            of_acme = id_of(Group)
        with use("globex"):
            assert id_of(Group) == of_acme + 1000
            assert ContentType.objects.get_for_id(of_acme + 1000).model == "group"
            with pytest.raises(ContentType.DoesNotExist):
                ContentType.objects.get_for_id(of_acme)


def test_content_types_are_still_cached(db, django_assert_num_queries):
    with use("acme"):
        id_of(User)
        with django_assert_num_queries(0):
            id_of(User)
            ContentType.objects.db_manager("default").get_for_model(User)


def test_a_permission_is_looked_up_by_the_tenants_content_type(moved_ids):
    with use("acme"):
        id_of(Group)
    with use("globex"):
        user = User.objects.create(username="demo")
        user.user_permissions.add(
            Permission.objects.get(content_type=ContentType.objects.get_for_model(Group), codename="add_group")
        )
        assert user.has_perm("auth.add_group")


def test_a_tenant_that_is_made_again_gets_its_new_ids(committed_db):
    create_tenant("initech", "initech.localhost")
    with use("initech"), connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('django_content_type', 'id'), 5000)")
        ContentType.objects.create(app_label="late", model="comer")
        assert ContentType.objects.get_by_natural_key("late", "comer").pk == 5001
    delete_tenant("initech")
    create_tenant("initech", "initech.localhost")
    with use("initech"), pytest.raises(ContentType.DoesNotExist):
        ContentType.objects.get_by_natural_key("late", "comer")


def test_the_number_of_tenants_kept_is_bounded(db):
    class Manager:
        _cache = PerTenant()

        def __init__(self):
            self._cache = {}

    manager = Manager()
    caches = manager.__dict__["_caches"]
    for number in range(MAX_TENANTS + 1):
        caches[f"t{number}"] = {}
    assert manager._cache == {}
    assert len(caches) == 1


def test_a_tenant_is_forgotten_by_the_managers_of_migrations_too():
    of_a_migration = ContentTypeManager()
    with use("acme"):
        of_a_migration._cache["default"] = {("auth", "group"): "of the tenant before"}
    forget_content_types("acme")
    with use("acme"):
        assert of_a_migration._cache == {}


def test_forgetting_a_tenant_that_was_never_seen_is_nothing():
    forget_content_types("nobody")


def test_the_cache_framework_keeps_tenants_apart(db):
    for name in ("acme", "globex", PUBLIC):
        with use(name):
            cache.set("who", name)
    for name in ("acme", "globex", PUBLIC):
        with use(name):
            assert cache.get("who") == name
            cache.delete("who")
            assert cache.get("who") is None

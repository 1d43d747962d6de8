"""The test databases can be built. ``make reset-test-env`` runs this alone, to build them anew."""

import pytest

from dms_project.tenancy import fleet, use
from dms_project.tokens.models import ApiToken


@pytest.mark.django_db
def test_the_test_database_has_public_and_both_tenants_with_their_tables() -> None:
    assert {"public", "acme", "globex"} <= set(fleet.names())
    for name in ("public", "acme", "globex"):
        with use(name):
            assert not ApiToken.objects.exists()

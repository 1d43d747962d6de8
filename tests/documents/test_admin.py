"""A document in its tenant's admin: how each step ended, in words."""

from django.contrib.auth.models import User
from django.test import Client

from documents.models import Document
from tests.conftest import TENANTS


def test_steps_are_shown_as_lines_with_their_reasons(tenant: str) -> None:
    steps = [
        {"name": "inspect", "status": "done", "reason": None, "detail": ""},
        {"name": "text", "status": "failed", "reason": "damaged", "detail": "page <3> is torn"},
    ]
    document = Document.objects.create(title="Report", status="partial", steps=steps, job_id=7)
    client = Client(headers={"host": TENANTS[tenant]})
    client.force_login(User.objects.create_superuser("boss"))

    page = client.get(f"/admin/documents/document/{document.pk}/change/").content.decode()

    assert "inspect: done<br>text: failed: damaged: page &lt;3&gt; is torn" in page
    assert 'href="/admin/jobqueue/processingjob/7/change/"' in page

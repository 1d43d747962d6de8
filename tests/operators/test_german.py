"""The admin in German: what it says of jobs, documents and tenants, and none of the English words for that."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dms_project.tenancy import use
from jobqueue.models import JobSchedule
from jobqueue.queue import Queue
from tests.operators.test_dead_letters import die_of
from tests.pages import made

JOBS, FLEET = "/admin/jobqueue/processingjob/", "/admin/tenancy/tenant/"
PAGES = {
    "acme.localhost": {
        JOBS: ["Aufträge", "wartend", "gescheitert", "1 von 1", "Auftragsart", "Gescheiterte erneut einreihen"],
        f"{JOBS}{{dead}}/change/": ["Letzter Fehler", "Versuche", "Vorrang", "Verlauf"],
        f"{JOBS}causes/": ["Gescheiterte Aufträge nach Ursache", "1 einreihen"],
        "/admin/jobqueue/jobschedule/": ["Zeitpläne", "angehalten", "Nächster Lauf"],
        "/admin/jobqueue/jobschedule/add/": ["Bleibt, wie er ist", "Zeitplan hinzufügen"],
        "/admin/documents/document/": ["Dokumente", "Titel"],
        "/admin/documents/auditentry/": ["Protokoll"],
        "/admin/tokens/apitoken/": ["API-Tokens"],
    },
    "localhost": {
        FLEET: ["Mandanten", "Wartende Aufträge", "Aufträge aller Mandanten"],
        f"{FLEET}jobs/": ["Aufträge aller Mandanten", "gescheitert", "Angekreuzte verwerfen", "fällig seit"],
        f"{FLEET}jobs/acme/{{dead}}/": ["Verwerfen", "Letzter Fehler"],
        f"{FLEET}dead-letters/": ["Gescheiterte Aufträge aller Mandanten", "1 verwerfen"],
    },
}
ENGLISH = re.compile(r"\b(jobs|tenants|dead letters?|pending|attempts|requeue|discard|cause|due for)\b", re.IGNORECASE)


@pytest.mark.django_db
def test_every_page_of_the_admin_about_jobs_documents_and_tenants_is_in_german() -> None:
    [dead] = die_of("acme", "S3 is away")
    with use("acme"):
        Queue().enqueue("test.print", {})
        JobSchedule.objects.create(name="nightly", timetable="every 1 d", job_type="documents.process", paused=True)
        made.document("Mietvertrag")
    wrong = {}
    for host, pages in PAGES.items():
        client = Client(headers={"host": host, "accept-language": "de"})
        with use("public" if host == "localhost" else "acme"):
            client.force_login(User.objects.create_superuser("boss"))
        for path, words in pages.items():
            page = client.get(path.format(dead=dead)).content.decode()
            text = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL)
            missing, english = [word for word in words if word not in page], ENGLISH.findall(text)
            if missing or english:
                wrong[path] = missing, english
    assert wrong == {}

"""Full-text search: German and English, any input, safe snippets, its limits (D10, D11)."""

import base64
import random
import string
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.contrib.postgres.search import SearchVector
from django.db import connection
from django.db.models import F
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dms_project.tenancy import use
from documents import results, search, vocabulary
from documents.models import Document, DocumentPage, DocumentVersion, Word
from documents.processing.findings import Findings, Page
from documents.search_query import MAX_QUERY_CHARACTERS, parse
from tests.documents.http import Api
from tests.documents.work import work_off


@pytest.fixture
def tenant(db: None) -> Iterator[str]:
    """One tenant is enough here: what is tried are words."""
    with use("acme"):
        yield "acme"


@pytest.mark.parametrize("words", ["-" * 500, "- " * 250, "--- words", 'a -"', "a - b"])
def test_a_row_of_dashes_is_no_error(api: Api, words: str) -> None:
    store(api, "words a b")
    assert api.client.get("/api/documents", {"q": words}).status_code == 200


def store(api: Api, *pages: str) -> str:
    """Upload a document and write down that these are its pages; return its id."""
    document_id: str = api.upload(uuid4().bytes, "file.txt").json()["id"]
    version = DocumentVersion.objects.get(document=document_id)
    findings = Findings(len(pages), [Page(number, text) for number, text in enumerate(pages, start=1)])
    results.write(version, findings, findings.steps(), hold=lambda: None)
    return document_id


def found(api: Api, words: str) -> list[str]:
    answer = api.search(words)
    assert answer.status_code == 200
    return [item["id"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Die Verträge wurden gekündigt.", "Vertrag"),
        ("Die Verträge wurden gekündigt.", "vertraege OR vertrage"),
        ("Ein Haus am See", "Häuser"),
        ("Die Straße ist lang", "strasse"),
        ("Die STRASSE ist lang", "Straße"),
        ("He was running late", "run"),
        ("Several invoices arrived", "invoice"),
        ("A café in Zürich", "cafe zurich"),
        ("Der Bericht der Kommission", '"Bericht der Kommission"'),
        ("alpha beta gamma", "beta -delta"),
        ("ein misﬁt im Text", "misfit"),
        ("Die Verträge wurden gekündigt.", "vertraege"),
        ("Die Vertraege wurden gekuendigt.", "Verträge"),
        ("Herr Müller", "Mueller"),
        ("Herr Mueller", "Müller"),
        ("Herr Mueller", "Mül*"),
        ("Die Rechnungen sind da", "Rechn*"),
        ("Die Rechnungen sind da", "rechnunge*"),
        ("He was running late", "runni*"),
        ("Several categories", "categorie*"),
        ("alpha beta gamma", '"beta gam" OR alph*'),
        ("alpha beta gamma", "delta or beta"),
        ("O'Neill \\ partners", "o'neill \\ partners"),
        ("Rechnung Nr. 2026-0815", "2026-0815"),
    ],
)
def test_a_word_is_found_in_another_form(api: Api, text: str, words: str) -> None:
    document_id = store(api, text)
    assert found(api, words) == [document_id]


@pytest.mark.parametrize(
    "words",
    [
        *("Rechnung", "alpha -beta", '"beta alpha"', "alpha delta", "alpha -bet*", 'gamma -"alpha beta"', "lpha*"),
        *("or", "?!", "-alpha", "delta* alpha"),
    ],
)
def test_what_does_not_match_is_not_found(api: Api, words: str) -> None:
    store(api, "alpha beta gamma")
    assert found(api, words) == []


def test_the_best_match_comes_first(api: Api) -> None:
    once = store(api, "Kündigung und vieles andere, das hier steht")
    often = store(api, "Kündigung, Kündigung: die Kündigung")
    assert found(api, "Kündigung") == [often, once]


def test_a_title_is_found_before_the_document_was_read(api: Api) -> None:
    document_id = api.upload(b"\x89PNG", "Mietverträge_2026.png").json()["id"]
    assert found(api, "Mietvertrag 2026") == [document_id]
    body = api.search("Mietvertrag").json()["items"][0]
    assert (body["page"], body["snippet"]) == (None, "")


def test_the_snippet_shows_the_best_page_and_marks_the_hit(api: Api) -> None:
    store(api, "nichts hier", "erst Prüfung und noch eine Prüfung", "eine Prüfung")
    [item] = api.search("Prüfungen").json()["items"]
    assert item["page"] == 2
    assert item["snippet"].count("<mark>Prüfung</mark>") == 2


def test_an_english_hit_is_marked_too(api: Api) -> None:
    store(api, "He was running late")
    assert "<mark>running</mark>" in api.search("run").json()["items"][0]["snippet"]


def test_markup_in_a_document_is_only_text_in_its_snippet(api: Api) -> None:
    store(api, "before <script>alert('boo')</script> & <img src=x onerror=y> hit \"quoted\"")
    snippet = api.search("hit").json()["items"][0]["snippet"]
    assert "<mark>hit</mark>" in snippet
    without_marks = snippet.replace("<mark>", "").replace("</mark>", "")
    assert not set("<>\"'") & set(without_marks)


def test_a_document_cannot_forge_a_mark(api: Api) -> None:
    api.upload(b"hit \x02forged\x03 end of the text that goes on")
    work_off()
    assert "<mark>forged" not in api.search("hit").json()["items"][0]["snippet"]


ODD = [
    *[":", "&", "|", "!", "(", ")", "<", ">", "*", "'", '"', "\\", "/", "%", "_", "-"],
    "a:*",
    "''",
    ":*A",
    "NOT",
    "<->",
    "<99999>",
    "\u2018\u2019",
    "\u02bb\u02bc",
    "\uff07",
    "\0",
    "a\0b",
    "\ud800",
    "😀",
    "\u202e",
    "der die das",
    "   ",
    "\\' OR 1=1 --",
    '"unclosed',
    "-",
    "-- -",
    "or or or",
    "a" * 500,
    " ".join("abcdefghi"[i % 9] for i in range(250)),
]


def status_of_search(api: Api, words: str) -> int:
    answer = api.client.get("/api/documents", query_params={"q": words.encode("utf-8", "surrogatepass")})
    return int(answer.status_code)


def test_odd_input_is_no_server_error(api: Api) -> None:
    assert {words: status_of_search(api, words) for words in ODD} == dict.fromkeys(ODD, 200)


@pytest.mark.parametrize("words", ["x" * 501, "x " * 500_000])
def test_a_search_that_is_too_long_is_refused(api: Api, words: str) -> None:
    assert api.search(words).status_code == 422


@pytest.mark.parametrize("page", ["0", "-1", str(10**20), "x", ""])
def test_a_page_that_cannot_be_is_refused(api: Api, page: str) -> None:
    assert api.get(query_params={"page": page}).status_code == 422


PIECES = [*ODD, *":&|!()<>*'\"\\/%_- ", "\u2019", "\u0301", "haus", "häuser", "OR", "geheim", '"haus geheim"', "-haus"]
QUESTIONS = st.lists(
    st.sampled_from([piece[:20] for piece in PIECES]) | st.text(st.characters(), max_size=8), max_size=9
)


@pytest.fixture
def neighbour(tenant: str) -> Iterator[str]:
    """The other tenant has the same words; returns the id of its document."""
    with use("globex"):
        yield store(Api("globex", User.objects.create_user("bob")), "haus geheim giraffe")


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(QUESTIONS.map(" ".join) | QUESTIONS.map("".join))
def test_no_input_breaks_the_query_or_finds_anything_of_a_neighbour(api: Api, neighbour: str, words: str) -> None:
    if not Document.objects.exists():
        store(api, "haus geheim aardvark", "häuser")
    asked = words[:MAX_QUERY_CHARACTERS].encode("utf-8", "surrogatepass")
    answer = api.get(query_params={"q": asked})
    assert answer.status_code == 200
    assert neighbour not in answer.content.decode()
    assert "giraffe" not in answer.content.decode()
    own = {str(pk) for pk in Document.objects.values_list("pk", flat=True)}
    assert {item["id"] for item in answer.json()["items"]} <= own


def hostile_page(kind: str) -> str:
    chosen = random.Random(kind)
    letters = string.ascii_lowercase
    match kind:
        case "distinct words":
            return " ".join("".join(chosen.choices(letters, k=3)) for _ in range(30_000))
        case "distinct wide words":
            return " ".join(chr(0x20000 + n) + chr(0x20000 + n % 7) for n in range(30_000))
        case "compounds":
            return " ".join("-".join("".join(chosen.choices(letters, k=2)) for _ in range(3)) for _ in range(10_000))
        case "addresses":
            return " ".join(f"a{n}.de/b{n}/c{n}" for n in range(8_000))
        case "numbers":
            return " ".join(str(n) for n in range(100_000, 120_000))
        case "one word":
            return "x" * 200_000
        case "one word often":
            return "wort " * 40_000
        case "Han, without blanks":
            return "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(100_000))
        case "Base64":
            return base64.b64encode(chosen.randbytes(100_000)).decode()
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "distinct words",
        "distinct wide words",
        "compounds",
        "addresses",
        "numbers",
        "one word",
        "one word often",
        "Han, without blanks",
        "Base64",
    ],
)
def test_a_page_with_too_many_words_keeps_its_document(api: Api, kind: str) -> None:
    document_id = store(api, "anfang " + hostile_page(kind))
    assert api.get(f"/{document_id}").json()["status"] == "ready"
    assert found(api, "anfang") == [document_id]
    [step] = [step for step in api.get(f"/{document_id}").json()["steps"] if step["name"] == "index"]
    assert (step["status"], step["reason"]) == ("done", "too_large")


@pytest.mark.parametrize("words", ["distinct", "repeated"])
def test_a_long_file_of_words_is_searchable_at_the_first_attempt(api: Api, words: str) -> None:
    lines = (f"wort{n if words == 'distinct' else n % 10}\n" for n in range(100_000))
    document_id = api.upload(("anfang\n" + "".join(lines) + "ende\n").encode(), "list.csv").json()["id"]
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    assert api.get(f"/{document_id}").json()["status"] == "ready"
    for word in ("anfang", "wort7", "ende"):
        assert found(api, word) == [document_id]


def test_an_index_that_refuses_does_not_cost_the_text(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "INDEXED_CHARACTERS", 10**9)
    document_id = store(api, " ".join(f"wort{n}" for n in range(200_000)))
    assert api.get(f"/{document_id}").json()["status"] == "partial"
    assert api.get(f"/{document_id}/text").status_code == 200
    step = api.get(f"/{document_id}").json()["steps"][-1]
    assert (step["name"], step["status"], step["reason"]) == ("index", "failed", "too_large")


def test_a_large_table_is_searched_by_its_index(api: Api) -> None:
    api.upload(b"words")
    version = DocumentVersion.objects.get()
    text = "gewöhnliche Wörter " * 50
    DocumentPage.objects.bulk_create(DocumentPage(version=version, number=n, text=text) for n in range(1, 3000))
    version.pages.update(search=SearchVector("text", config="dms_german"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT gin_clean_pending_list('pages_by_word'); ANALYZE documents_documentpage")
        pages = DocumentPage.objects.filter(search=search._compiled(parse("seltenes").wanted))
        assert "pages_by_word" in pages.explain()
        # Also the newest first: not by walking the pages, and unpacking the words of each.
        assert "pages_by_word" in pages.order_by((F("pk") + 0).desc()).values("pk")[:1000].explain()


def test_nothing_of_another_tenant_is_found(api: Api, tenant: str) -> None:
    store(api, "geheimnisvoll")
    vocabulary.learn(DocumentVersion.objects.get())
    elsewhere = {"acme": "globex", "globex": "acme"}[tenant]
    with use(elsewhere):
        other = Api(elsewhere, User.objects.create_user("bob"))
    assert other.search("geheimnisvoll").json()["count"] == 0
    assert other.search("geheimnisvol").json() == {"items": [], "count": 0, "more": False, "suggestion": ""}


def test_the_search_asks_the_database_a_few_times_whatever_it_finds(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        store(api, f"gemeinsam {number}")
    with django_assert_max_num_queries(16):
        assert api.search("gemeinsam").json()["count"] == 6


def test_an_excluded_word_leaves_the_whole_document_out(api: Api) -> None:
    store(api, "alpha here", "beta there")
    kept = store(api, "alpha here", "gamma there")
    assert found(api, "alpha -beta") == [kept]
    assert found(api, "-beta") == [kept]
    api.client.patch(f"/api/documents/{kept}", '{"title": "Beta"}', "application/json")
    assert found(api, "-beta") == []


def test_of_very_many_matches_the_newest_are_ranked_and_filters_look_through_all(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "RANKED", 3)
    oldest, *others = (store(api, f"gemeinsam {number}", "gemeinsam") for number in range(4))
    body = api.search("gemeinsam").json()
    assert (body["count"], body["more"]) == (2, True)
    assert {item["id"] for item in body["items"]} == set(others[-2:])
    api.client.patch(f"/api/documents/{oldest}", '{"tags": ["rare"]}', "application/json")
    body = api.search("gemeinsam", tag="rare").json()
    assert ([item["id"] for item in body["items"]], body["more"]) == ([oldest], False)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Rehcnung", "rechnung"),
        ("Kündgung Rechnung", "kündigung Rechnung"),
        ("-x Rechnumg", "-x rechnung"),
        ("Rechnung", ""),
        ("Zeppelin", ""),
        ("Rechnung Zeppelin", ""),
        ("xx", ""),
    ],
)
def test_somebody_who_mistyped_a_word_is_told_what_may_be_meant(api: Api, typed: str, meant: str) -> None:
    store(api, "Die Kündigung und die Rechnung")
    vocabulary.learn(DocumentVersion.objects.get())
    vocabulary.learn(DocumentVersion.objects.get())
    assert api.search(typed).json()["suggestion"] == meant


def test_a_suggestion_finds_something_under_the_same_filters(api: Api) -> None:
    store(api, "Die Rechnung")
    vocabulary.learn(DocumentVersion.objects.get())
    assert api.search("Rehcnung", tag="none").json()["suggestion"] == ""


def test_many_words_are_compared_by_their_index(tenant: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO documents_word SELECT md5(n::text) FROM generate_series(1, 20000) AS n")
        cursor.execute("SELECT gin_clean_pending_list('words_by_trigram'); ANALYZE documents_word")
    assert "words_by_trigram" in Word.objects.filter(text__trigram_similar="rechnung").explain()


PART = st.text(st.characters(), max_size=6) | st.sampled_from(
    ["'", "\\", '"', "-", "*", " ", "or", ":*", "&", "(", "wort"]
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PART, max_size=12).map("".join))
def test_postgresql_understands_whatever_is_made_of_a_search(tenant: str, words: str) -> None:
    query = parse(words)
    with connection.cursor() as cursor:
        for text in filter(None, (query.wanted, query.unwanted)):
            cursor.execute("SELECT to_tsquery('dms_german', %s)", [text])

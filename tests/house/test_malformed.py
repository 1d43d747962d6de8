"""Requests that Django by itself answers with 500."""

from typing import Any

import pytest
from django.test import Client

from dms_project.charsets import drop_unknown_charset


@pytest.mark.parametrize("charset", ["hex", "idna", '"undefined"', "PUNYCODE", "no-such-thing"])
def test_a_charset_that_is_no_text_encoding_is_taken_out(charset: str) -> None:
    environ = {"CONTENT_TYPE": f"multipart/form-data; charset={charset}; boundary=x"}
    drop_unknown_charset(environ)
    assert environ["CONTENT_TYPE"] == "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "text/plain; charset=UTF-8", 'text/plain; charset="latin-1"']
)
def test_every_other_content_type_stays(content_type: str) -> None:
    environ = {"CONTENT_TYPE": content_type}
    drop_unknown_charset(environ)
    assert environ["CONTENT_TYPE"] == content_type


def test_a_session_cookie_with_a_nul_is_nobodys(tenant: str) -> None:
    client = Client(headers={"host": f"{tenant}.localhost", "cookie": r'sessionid="\000aaaaaaaaaaaaaaa"'})
    assert client.get("/api/documents").status_code == 401
    assert client.get("/admin/").status_code == 302


# Nobody has logged in, and the forms of these take no files.
FORMS = ["/login/", "/logout/", "/language", "/admin/login/", "/documents/00000000-0000-0000-0000-000000000000/trash"]
FILE = b'--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n%s\r\n--B--\r\n'
BODIES = {
    "a file": FILE % b"x",
    "a file that is too large": FILE % (b"x" * 200),
    "a file without an end": (FILE % b"x")[:-8],
    "broken base64": FILE.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1) % b"x",
    "no part": b"--B",
}


@pytest.mark.django_db
def test_a_file_in_a_form_that_takes_none_is_forgotten(settings: Any, tmp_path: Any) -> None:
    settings.DMS_MAX_UPLOAD_BYTES = 100
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "missing"  # so that whoever writes to it fails
    client = Client(headers={"host": "acme.localhost"}, enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "x" * 32  # without one nobody looks into the form
    client.raise_request_exception = False

    answers = {}
    for path in FORMS:
        for body, content in BODIES.items():
            for length in (len(content), 2**40):
                answer = client.generic(
                    "POST", path, content, "multipart/form-data; boundary=B", CONTENT_LENGTH=str(length)
                )
                answers[path, body, length] = answer.status_code

    assert {key: status for key, status in answers.items() if status not in (400, 403)} == {}

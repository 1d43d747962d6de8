"""Requests that Django by itself answers with 500."""

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

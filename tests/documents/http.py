"""Calling the HTTP API inside the test's own process."""

from io import BytesIO
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from dms_project.tokens.models import ApiToken


class Api:
    """A tenant's API as a user with a token sees it."""

    def __init__(self, tenant: str, user: User | None) -> None:
        headers = {}
        if user:
            headers["authorization"] = f"Bearer {ApiToken.objects.issue(user, 'test')[1]}"
        self.client = Client(headers={"host": f"{tenant}.localhost", **headers})

    def upload(self, content: bytes, name: str = "file.bin", **fields: str) -> Any:
        file = BytesIO(content)
        file.name = name
        return self.client.post("/api/documents", {"file": file, **fields})

    def get(self, path: str = "", **kwargs: Any) -> Any:
        return self.client.get(f"/api/documents{path}", **kwargs)

    def search(self, words: str, **parameters: Any) -> Any:
        return self.get(query_params={"q": words, **parameters})

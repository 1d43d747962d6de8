"""One table of API tokens per schema. The token itself is shown once; only its SHA-256 is kept."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Now

PREFIX = "dms_"  # lets secret scanners and people recognise a token that leaked


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """SHA-256 of a token, in hex. A slow hash is for guessable passwords; a token has 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


class TokenManager(models.Manager["ApiToken"]):
    def issue(self, user: User, label: str) -> tuple[ApiToken, str]:
        """Create a token for ``user`` in the active schema.

        Returns:
            The row, and the token in clear: the only time that it can be read.

        Raises:
            ValidationError: The label is empty or too long.
        """
        token = new_token()
        row = self.model(user=user, label=label, sha256=digest(token))
        row.clean_fields(exclude=["user"])
        row.save(force_insert=True)
        return row, token

    def owner(self, token: str) -> User | None:
        """Return the active user whom a token in clear belongs to, or None; note that it was used."""
        found = (
            self.select_related("user")
            .filter(sha256=digest(token), revoked_at__isnull=True, user__is_active=True)
            .first()
        )
        if found is None:
            return None
        found.note_use()
        return found.user


class ApiToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    label = models.CharField(max_length=100, help_text="What the token is for.")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[TokenManager] = TokenManager()

    USE_GRANULARITY = timedelta(minutes=10)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.label

    def note_use(self) -> None:
        """Move ``last_used_at``, at most once per ``USE_GRANULARITY``: a write per request would be a hot row."""
        stale = models.Q(last_used_at__isnull=True) | models.Q(last_used_at__lt=Now() - self.USE_GRANULARITY)
        ApiToken.objects.filter(stale, pk=self.pk).update(last_used_at=Now())

    def revoke(self) -> bool:
        """Make the token worthless for good. Returns False if it was already."""
        return bool(ApiToken.objects.filter(pk=self.pk, revoked_at__isnull=True).update(revoked_at=Now()))

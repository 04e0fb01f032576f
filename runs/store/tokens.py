"""Ingest tokens: made once, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from runs.models import Token
from runs.rules.display_name import ecma_trim
from runs.rules.plain_line import plain_line_problem
from runs.store.ask import among_ids, ask, listed

PREFIX = "fp_"
HINT_CHARS = 8
MAX_LABEL_CHARS = 80
# A busy sender asks for its token often; the page says "last used" to the minute.
USED_AGAIN_AFTER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as a page may show it: enough to tell it from another, never enough to use it."""

    id: int
    project_id: int
    hint: str
    label: str
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    revoked_at: datetime | None


def digest_of(secret: str) -> str:
    """What is kept of a token: the SHA-256 of all of it, in hex. 32 random bytes need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def label_problem(label: str) -> str | None:
    """Why `label` cannot stand beside a token, or None. An empty one can."""
    problem = plain_line_problem("The label", ecma_trim(label))
    if problem is None and len(ecma_trim(label)) > MAX_LABEL_CHARS:
        return f"The label must be at most {MAX_LABEL_CHARS} characters, and it has {len(ecma_trim(label))}."
    return problem


def create_token(project_id: int, label: str, user: User | None) -> tuple[TokenRow, str]:
    """A new token and its secret, which is told here and never again. `label` has passed `label_problem`."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        project_id=project_id,
        digest=digest_of(secret),
        hint=secret[:HINT_CHARS],
        label=ecma_trim(label),
        created_by=user,
    )
    return _row(token), secret


def find_token(secret: object) -> TokenRow | None:
    """The token with this secret, or None where there is none or it was revoked. Any value may be asked for."""
    if not isinstance(secret, str) or not secret.startswith(PREFIX):
        return None
    found = (
        Token.objects.select_related("created_by").filter(digest=digest_of(secret), revoked_at=None).first()
    )
    return None if found is None else _row(found)


def tokens_in_force(token_ids: Collection[int]) -> frozenset[int]:
    """Those of `token_ids` that are not revoked and not gone: asked again at every commit. One query."""
    statement = f"SELECT id FROM runs_token WHERE {among_ids('id')} AND revoked_at IS NULL"
    return frozenset(row[0] for row in ask(statement, listed(token_ids)))


def touch_used(token_id: int) -> None:
    """Notes that the token was used now, at most once a minute."""
    now = timezone.now()
    long_ago = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_AGAIN_AFTER)
    Token.objects.filter(long_ago, pk=token_id).update(last_used_at=now)


def revoke_token(project_id: int, token_id: int) -> bool:
    """Revokes one token of the project; False where it has none such. Revoking twice keeps the first time."""
    mine = Token.objects.filter(project_id=project_id, pk=token_id)
    return bool(mine.filter(revoked_at=None).update(revoked_at=timezone.now())) or mine.exists()


def list_tokens(project_id: int) -> list[TokenRow]:
    """The project's tokens, newest first, revoked ones last."""
    found = Token.objects.filter(project_id=project_id).select_related("created_by").order_by("-pk")
    return sorted(map(_row, found), key=lambda row: row.revoked_at is not None)


def _row(token: Token) -> TokenRow:
    return TokenRow(
        id=token.pk,
        project_id=token.project_id,
        hint=token.hint,
        label=token.label,
        created_at=token.created_at,
        created_by=None if token.created_by is None else token.created_by.get_username(),
        last_used_at=token.last_used_at,
        revoked_at=token.revoked_at,
    )

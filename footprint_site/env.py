"""Settings from the environment: each helper answers one kind of value, or says what was wrong in a sentence."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def words(name: str, default: list[str]) -> list[str]:
    """A comma-separated list."""
    value = os.environ.get(name)
    return default if value is None else [word.strip() for word in value.split(",") if word.strip()]


def switch(name: str) -> bool:
    """1/0, true/false, yes/no, on/off. Absent or empty is off."""
    value = os.environ.get(name, "").strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("", "0", "false", "no", "off"):
        return False
    raise ImproperlyConfigured(f"{name} is a switch: expected 1 or 0.")


def one_of(name: str, allowed: tuple[str, ...]) -> str:
    """One of a few words; absent or empty is the first."""
    value = os.environ.get(name, "").strip().lower() or allowed[0]
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}: expected one of {', '.join(allowed)}.")
    return value


def number(name: str, default: int) -> int:
    """A positive whole number."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise ImproperlyConfigured(f"{name} is a number: expected a whole number above 0.")
    return int(value)


def data_folder(default: Path) -> Path:
    """Where everything that is written lives (FOOTPRINT_DATA); made when missing, for this user only."""
    folder = Path(os.environ.get("FOOTPRINT_DATA") or default).resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def kept_secret(path: Path, length: int = 50) -> str:
    """The secret in this file; made on first use, readable by this user alone.

    Two processes may start at once: each writes a file of its own, and the first to link it into place wins.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(length))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    value = path.read_text(encoding="ascii").strip()
    if not value:
        raise ImproperlyConfigured(f"{path} is empty. Delete it, and a new secret is made at the next start.")
    return value

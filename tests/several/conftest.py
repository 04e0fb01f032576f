"""Stories of several processes are stories of faults too: senders that try again at once, the record undisturbed."""

from tests.faults.conftest import databases, impatient, undisturbed

__all__ = ["databases", "impatient", "undisturbed"]

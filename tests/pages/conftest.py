"""What the pages' stories start from."""

from tests.people import *  # noqa: F403
from tests.sample import *  # noqa: F403

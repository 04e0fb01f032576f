"""A project with a token, and limits that a test may lower."""

from typing import Any

import pytest

from runs.models import Project
from tests.orphans import no_orphans as no_orphans
from tests.people import people as people
from tests.wire import make_project, make_token


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def token(project: Project) -> str:
    return make_token(project)


@pytest.fixture
def limits(settings: Any) -> Any:
    """Set limits of the doors: `limits(window=10)`."""

    def lower(**named: int) -> None:
        settings.FOOTPRINT = {**settings.FOOTPRINT, **named}

    return lower

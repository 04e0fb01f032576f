"""The check that stands in for the database's own sees a row whose parent is gone."""

import pytest

from runs.models import Answer, Project, Run, Stream, ToolCall
from tests.orphans import orphans
from tests.store.fill import fill

pytestmark = pytest.mark.django_db


def test_a_row_without_its_parents_is_found() -> None:
    project = fill(Project)
    stream = fill(Stream, project=project)
    run = fill(Run, project=project, stream=stream)
    answer = fill(Answer, project=project, stream=stream, run=run)
    fill(ToolCall, project=project, answer=answer, run=run)
    assert orphans() == []
    Answer.objects.filter(pk=answer.pk)._raw_delete("default")
    assert orphans() == ["runs_toolcall.answer_id: 1"]
    ToolCall.objects.all()._raw_delete("default")
    assert orphans() == []

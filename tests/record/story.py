"""The record of a stream as plain data, so that two records can be compared and read in a failure."""

from typing import Any

from runs.models import Answer, Leg, Project, Run, ToolCall


def answers_of(project: Project, stream: str | None = None) -> list[dict[str, Any]]:
    """Every answer of the current epoch in order of appearance, in the words of the recordings' facts."""
    project.refresh_from_db()
    found = Answer.objects.filter(project=project, epoch=project.epoch).order_by("opened_position", "id")
    if stream is not None:
        found = found.filter(run__stream__name=stream)
    told = []
    for answer in found.select_related("run"):
        legs = Leg.objects.filter(answer=answer).order_by("number").values_list("run__name", flat=True)
        calls = ToolCall.objects.filter(answer=answer).order_by("number")
        told.append(
            {
                "run": answer.run.name,
                "path": answer.path,
                "ordinal": answer.ordinal,
                "legs": list(legs),
                "ending": answer.ending,
                "complete": answer.complete,
                "incomplete": answer.reasons.split(",") if answer.reasons else [],
                "requested": answer.requested,
                "undispatched": answer.undispatched,
                "calls": [list(call) for call in calls.values_list("tool", "call_id", "outcome")],
            }
        )
    return told


def whole_record(project: Project) -> dict[str, list[dict[str, Any]]]:
    """Every row of the record of the current epoch as plain values, ids told by what they point to."""
    from runs.store import rows

    project.refresh_from_db()
    names: dict[int, str] = {}
    for run in Run.objects.filter(project=project, epoch=project.epoch):
        names[run.pk] = f"run {run.slug}"
    for answer in Answer.objects.filter(project=project, epoch=project.epoch):
        names[answer.pk] = f"answer {answer.slug}"
    return {
        table.table: sorted(
            _plain_rows(project, table, names), key=lambda row: str(sorted(row.items(), key=str))
        )
        for table in rows.TABLES
    }


def _plain_rows(project: Project, table: Any, names: dict[int, str]) -> list[dict[str, Any]]:
    from django.apps import apps

    model = next(m for m in apps.get_app_config("runs").get_models() if m._meta.db_table == table.table)
    told = []
    for values in model._default_manager.filter(project=project, epoch=project.epoch).values(
        *table.columns()
    ):
        values.pop("id"), values.pop("epoch"), values.pop("project_id")
        for key, value in values.items():
            if key.endswith("_ms") and not key.endswith("clock_ms") and key != "duration_ms":
                values[key] = None if value is None else "received"
            elif key in REFERENCES and value is not None:
                values[key] = names.get(value, "a row")
            elif key == "last_runs":
                values[key] = sorted(value.split(",")) and "remembered"
        told.append(values)
    return told


REFERENCES = frozenset(
    ["run_id", "answer_id", "current_run", "leg_of", "previous", "retry_of", "spawn_id", "roster"]
)

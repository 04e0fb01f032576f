"""What the Tools page asks: which tools were seen, and answers to try a name on."""

from __future__ import annotations

from dataclasses import dataclass, field

from runs.models import Answer, SeenName, ToolCall

RECENT_ANSWERS = 3
CALLS_OF_AN_ANSWER = 200  # a preview tries the words on the first of them; the sentence names three


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool by its registered name (for operators). `last_ms` 0: not known."""

    name: str
    calls: int
    last_ms: int


@dataclass(slots=True)
class UsedIn:
    """A recent answer with calls of the tool in question: (tool, outcome) in order, `tool` None without a name."""

    slug: str
    opened_ms: int
    ending: str
    complete: bool
    calls: list[tuple[str | None, str]] = field(default_factory=list)


def seen_tools(project_id: int, epoch: int) -> list[SeenTool]:
    """Every tool that was offered, called or declared; aliases alone are no tools."""
    rows = SeenName.objects.filter(project_id=project_id, epoch=epoch, tool=True).order_by("name")
    return [SeenTool(*row) for row in rows.values_list("name", "calls", "last_ms")]


def seen_tool(project_id: int, epoch: int, name: str) -> SeenTool | None:
    rows = SeenName.objects.filter(project_id=project_id, epoch=epoch, name=name, tool=True)
    row = rows.values_list("name", "calls", "last_ms").first()
    return None if row is None else SeenTool(*row)


def recent_answers_using(project_id: int, epoch: int, tool: str) -> list[UsedIn]:
    """Answers of the newest runs in which the tool was called, newest first. Three queries."""
    calls = ToolCall.objects.filter(project_id=project_id, epoch=epoch, tool=tool)
    runs = calls.order_by("-run_position").values_list("run_position", flat=True).distinct()[:RECENT_ANSWERS]
    newest = calls.filter(run_position__in=list(runs)).order_by("-answer").values_list("answer", flat=True)
    newest = newest.distinct()[:RECENT_ANSWERS]
    columns = ("pk", "slug", "opened_ms", "ending", "complete")
    answers = Answer.objects.filter(pk__in=list(newest)).order_by("-opened_position").values_list(*columns)
    found = {pk: UsedIn(*values) for pk, *values in answers}
    calls = ToolCall.objects.filter(answer__in=found, number__lte=CALLS_OF_AN_ANSWER).order_by("number")
    for answer, called, outcome in calls.values_list("answer", "tool", "outcome"):
        found[answer].calls.append((called, outcome))
    return list(found.values())

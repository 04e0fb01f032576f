"""One event dropped, doubled or swapped with its neighbour, after numbering or before, and what the record makes of it.

*After numbering* (in transit): the sender numbered and sent a stream, the network or a broken client lost, repeated or
reordered one event, and the sender said `bye`. *Before numbering* (in the agent): the agent itself dropped, doubled or
swapped one event, and the stream that the sender then numbers has no hole. That one is "as recorded" or "as sent": the
shipped senders leave out what is not kept before they number, so that other events are neighbours.

The verdict compares what the record tells with what it tells undisturbed. *What an answer tells*: run, path, ordinal,
legs, ending and stop reason, the calls in order (tool, id, outcome), how many were asked for and never sent, the
reasons why it is incomplete, the texts of question and answer, the token totals, and whether the text was replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runs.intake.numbering import Item, Missing
from runs.rules.kept import Dropped, Kept, Refused, keep
from tests import recordings
from tests.record.memory import MemoryRecord

Event = Kept | Dropped | Refused

GROUPS: dict[str, list[str]] = {
    "one agent": [
        "plain_answer.jsonl",
        "parallel_tools.jsonl",
        "tool_call_id_reuse.jsonl",
        "tool_throws.jsonl",
        "tool_args_invalid.jsonl",
        "effects_status_envelope.jsonl",
        "result_too_large_refused.jsonl",
        "output_schema_fallback_no_meta.jsonl",
    ],
    "decisions": [
        "permission_denied_and_allowed.jsonl",
        "permission_halt.jsonl",
        "middleware_changes_and_denies.jsonl",
        "evidence_guard_revised.jsonl",
    ],
    "resumes": [
        "ask_human_pause_resume.jsonl",
        "checkin_approved.jsonl",
        "pause_in_the_middle_of_a_batch.jsonl",
        "pause_inside_sequence.jsonl",
        "example_credential_consent.jsonl",
    ],
    "endings": [
        "budget_wrap_up_pending_calls.jsonl",
        "crash_then_resume_on_error.jsonl",
        "fatal_provider_error.jsonl",
        "process_dies_mid_tool.jsonl",
        "example_strict_output_reliability.jsonl",
        "example_tool_discovery_failure.jsonl",
    ],
    "several agents or runs": [
        "interleaved_two_runs.jsonl",
        "loop_refine.jsonl",
        "parallel_agents_merge.jsonl",
        "sequence_of_agents.jsonl",
        "swarm_handoff.jsonl",
        "followup_conversation.jsonl",
    ],
}
NAMES = [name for names in GROUPS.values() for name in names]

# Losses in the agent that leave no trace in what follows: the call's end says nothing of the decision, or the turn's
# end nothing of the check. Every other loss must be noticed.
UNNOTICEABLE = frozenset(
    [
        "permission.check",
        "middleware.decision",
        "checkin.decision",
        "agent.evidence_checked",
        "tools.result_refused",
    ]
)

HOWS = ("dropped", "doubled", "swapped")


class Where(StrEnum):
    TRANSIT = "in transit"
    AGENT = "in the agent, as recorded"
    SENT = "in the agent, as sent"


class Verdict(StrEnum):
    SAME = "same"
    GAP = "gap"  # in transit: what differs says that the record has a hole
    INCOMPLETE = "incomplete"  # in the agent: what differs is incomplete; in transit: without the word `gap`
    NEEDLESS = "needless incomplete"  # all facts are there, and yet an answer is incomplete
    FALSE = "false complete"  # something is wrong or missing, and nothing says so


@dataclass(frozen=True, slots=True)
class Disturbance:
    recording: str
    where: Where
    how: str
    at: int  # index of the event; a swap is with the next one

    def __str__(self) -> str:
        return f"{self.recording}: event {self.at + 1} {self.how} {self.where}"


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    lines: list[str]
    events: list[Event]

    @classmethod
    def read(cls, name: str) -> Recording:
        lines = recordings.lines(name)
        return cls(name, lines, [keep(line) for line in lines])

    def places(self, where: Where) -> list[int]:
        """The indexes of the events that a sender numbers."""
        kept_only = where is Where.SENT
        return [i for i, event in enumerate(self.events) if not (kept_only and isinstance(event, Dropped))]

    def disturbances(self, where: Where) -> Iterator[Disturbance]:
        count = len(self.places(where))
        for at in range(count):
            for how in HOWS:
                if how != "swapped" or at + 1 < count:
                    yield Disturbance(self.name, where, how, at)

    def kind(self, disturbance: Disturbance) -> str:
        event = self.events[self.places(disturbance.where)[disturbance.at]]
        return event.type if isinstance(event, Kept) else "(not kept)"

    def numbered(self, disturbance: Disturbance | None = None) -> tuple[list[tuple[int, int]], int]:
        """What arrives, in order, as (seq, index of the event), and the last number that the sender gave."""
        if disturbance is None:
            return list(enumerate(self.places(Where.TRANSIT), 1)), len(self.events)
        places = self.places(disturbance.where)
        if disturbance.where is Where.TRANSIT:
            return _disturb(list(enumerate(places, 1)), disturbance), len(places)
        numbered = list(enumerate(_disturb(places, disturbance), 1))
        return numbered, len(numbered)

    def record(self, disturbance: Disturbance | None = None) -> MemoryRecord:
        numbered, last = self.numbered(disturbance)
        items: list[Item | Missing] = [Item(seq, self.events[index]) for seq, index in numbered]
        return MemoryRecord().arrive([*items, Missing(last, last, ends=True)])

    def frames(self, disturbance: Disturbance | None = None) -> tuple[list[tuple[int, list[str]]], int]:
        """The same as frames of the wire: (first seq, lines), one for every unbroken piece; and the last number."""
        numbered, last = self.numbered(disturbance)
        frames: list[tuple[int, list[str]]] = []
        for seq, index in numbered:
            if frames and frames[-1][0] + len(frames[-1][1]) == seq:
                frames[-1][1].append(self.lines[index])
            else:
                frames.append((seq, [self.lines[index]]))
        return frames, last


def _disturb(things: list[Any], disturbance: Disturbance) -> list[Any]:
    at = disturbance.at
    if disturbance.how == "dropped":
        return [*things[:at], *things[at + 1 :]]
    if disturbance.how == "doubled":
        return [*things[: at + 1], *things[at:]]
    return [*things[:at], things[at + 1], things[at], *things[at + 2 :]]


# -- verdicts -----------------------------------------------------------------------------------


def judge(whole: MemoryRecord, disturbed: MemoryRecord, where: Where) -> Verdict:
    """What the disturbed record is worth beside the whole one."""
    return _judge_transit(whole, disturbed) if where is Where.TRANSIT else _judge_agent(whole, disturbed)


def _judge_transit(whole: MemoryRecord, disturbed: MemoryRecord) -> Verdict:
    """By key (run, path, ordinal): equal, or it says `gap`; a missing answer needs another of its run that does."""
    before = {_key(told): told for told in whole.told()}
    after = {_key(told): told for told in disturbed.told()}
    verdict = Verdict.SAME
    for key in {**before, **after}:
        told, was = after.get(key), before.get(key)
        if told == was:
            continue
        if told is None:
            says_gap = any("gap" in other["incomplete"] for other in after.values() if other["run"] == key[0])
            complete = not says_gap
        else:
            says_gap, complete = "gap" in told["incomplete"], told["complete"]
        if complete:
            return Verdict.FALSE
        needless = says_gap and told is not None and was is not None and _facts(told) == _facts(was)
        found = Verdict.NEEDLESS if needless else Verdict.GAP if says_gap else Verdict.INCOMPLETE
        verdict = max(verdict, found, key=_TRANSIT_WORST.index)
    return max(verdict, _judge_runs(whole, disturbed, after), key=_TRANSIT_WORST.index)


_TRANSIT_WORST = [Verdict.SAME, Verdict.NEEDLESS, Verdict.GAP, Verdict.INCOMPLETE, Verdict.FALSE]


def _judge_runs(whole: MemoryRecord, disturbed: MemoryRecord, after: dict[Any, Any]) -> Verdict:
    """A run's own words (agent, model, session, ...): the same, or each answer it has a share in says `gap`."""
    verdict, told = Verdict.SAME, disturbed.runs()
    for name, was in whole.runs().items():
        if told.get(name) == was:
            continue
        shares = [answer for answer in after.values() if name in answer["legs"]]
        row = next((run for run in disturbed.book.runs.values() if run.name == name), None)
        covered = all("gap" in answer["incomplete"] for answer in shares)
        if not covered or (not shares and row is not None and not row.gap):
            return Verdict.FALSE
        verdict = Verdict.GAP
    return verdict


def _judge_agent(whole: MemoryRecord, disturbed: MemoryRecord) -> Verdict:
    """Answers are matched by what they tell, whatever their ordinal: the agent's own stream may have begun one more.

    Right: every answer tells what one tells undisturbed, and none is missing. Incomplete: the ones that do not are
    incomplete, and for each that is missing an answer of its runs has become incomplete.
    """
    before, after = whole.told(), disturbed.told()
    spare = Counter(_same(told) for told in before)
    strange = []
    for told in after:
        if spare[_same(told)]:
            spare[_same(told)] -= 1
        elif told["complete"]:
            return Verdict.FALSE
        else:
            strange.append(told)
    missing = [told for told in before if spare[_same(told)] and not spare.subtract([_same(told)])]
    for was in missing:
        if not any(set(was["legs"]) & set(told["legs"]) for told in strange):
            return Verdict.FALSE
    if not strange:
        return Verdict.SAME
    facts = Counter(_facts(told) for told in before)
    return Verdict.NEEDLESS if Counter(_facts(told) for told in after) == facts else Verdict.INCOMPLETE


def _key(told: dict[str, Any]) -> tuple[str, str, int]:
    return told["run"], told["path"], told["ordinal"]


def _same(told: dict[str, Any]) -> str:
    return repr({name: value for name, value in told.items() if name != "ordinal"})


def _facts(told: dict[str, Any]) -> str:
    """Everything but how complete it is."""
    return repr({n: v for n, v in told.items() if n not in ("ordinal", "complete", "incomplete")})

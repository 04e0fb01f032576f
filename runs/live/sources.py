"""What a live page can show: one class a kind of page, which reads the store and prints parts. Called in threads."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from runs.pages import run, runs
from runs.pages.access import Audience, Visit
from runs.pages.answer import parts as answer_parts
from runs.pages.answer.parts import Look
from runs.pages.fragments import Fragment, LiveTag
from runs.store import reads_answer
from runs.store.people import ProjectRow

TIMELINE_EVERY_S = 1.0
SMALL_EVERY_S = 0.5
"""Sentences and counts change so often at most while an answer grows; its rows come as fast as a feed looks."""

WHOLE_SHARE = 0.1  # of the processor's time at most goes into looking at a whole answer


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Where a page stands. Another epoch or other words: everything is sent anew."""

    epoch: int
    position: int
    words: int

    def follows(self, other: Version) -> bool:
        """Whether what changed since `other` is enough to get here."""
        return (self.epoch, self.words) == (other.epoch, other.words)


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the store: the parts that stand once, the rows that changed, and the version both are at least of.

    `settled`: nothing was committed since, so the parts are of that version and no later one.
    `due_s`: something dear was left out and is to be read in so many seconds, also when nothing changes until then.
    """

    version: Version
    parts: Sequence[Fragment]
    rows: Sequence[tuple[int, Fragment]]
    finished: bool
    settled: bool
    due_s: float | None = None


class Source(Protocol):
    """Reads for one kind of page and one audience. `None` everywhere: there is nothing (any more)."""

    @property
    def slug(self) -> str | None: ...

    @property
    def looks_seldom(self) -> bool:
        """Whether it keeps its own measure of how often it looks at everything."""

    def read(self, project: ProjectRow, since: Version | None, watched: Collection[str]) -> Reading | None:
        """The state now. Rows only where `since` leads here by changes alone."""

    def read_quickly(self, since: Version) -> Reading | None:
        """The rows that came since the last look, when the rest can wait a moment: still of version `since`. None when
        it cannot."""

    def rows_since(self, project: ProjectRow, position: int) -> Sequence[tuple[int, Fragment]] | None:
        """The rows that changed after a position; None when they are too many to send."""

    def whole(self, project: ProjectRow, through: int) -> Sequence[Fragment] | None:
        """Everything a page shows, with its rows up to `through`."""


class AnswerSource:
    """Looks at the whole every now and then, and in between at the rows alone: for a tenth of the work."""

    looks_seldom = True

    def __init__(self, slug: str, role: str) -> None:
        self.slug: str | None = slug
        self._slug, self._operates = slug, Audience(role).operates
        self._look: Look | None = None
        self._looked_at = 0.0
        self._small_every_s = SMALL_EVERY_S
        self._drawn_at = 0.0
        self._plot_is_due = False
        self._rows_through = 0

    def read(self, project: ProjectRow, since: Version | None, watched: Collection[str]) -> Reading | None:
        # The plot is the dear part and nobody reads it in a blink: once a second, and at the end.
        now, working = time.monotonic(), time.thread_time()
        stands = reads_answer.find_version(project.id, self._slug)
        if stands is None:
            return None
        draw = self._operates and (now - self._drawn_at >= TIMELINE_EVERY_S or stands.ended)
        look = answer_parts.read_small(project, self._slug, self._operates, timeline=draw)
        if look is None:
            return None
        if draw:
            self._drawn_at = now
        self._look, self._looked_at = look, now
        self._plot_is_due = self._operates and not draw
        tag = look.page.seen.live
        assert tag is not None  # a page asked for plainly always says what it shows
        version = _version(tag)
        rows: Sequence[tuple[int, Fragment]] = ()
        if since is not None and version.follows(since):
            rows = answer_parts.read_rows(look, since.position) or ()
        after = reads_answer.find_version(project.id, self._slug)
        settled = after is not None and Version(after.epoch, after.version, after.words_version) == version
        self._rows_through = version.position
        self._small_every_s = max(SMALL_EVERY_S, (time.thread_time() - working) / WHOLE_SHARE)
        due = self._drawn_at + TIMELINE_EVERY_S - now if self._plot_is_due else None
        return Reading(version, look.small, rows, look.page.seen.ending.ended, settled, due)

    def read_quickly(self, since: Version) -> Reading | None:
        look, now = self._look, time.monotonic()
        if look is None or now - self._looked_at >= self._small_every_s:
            return None
        answer = look.material.answer
        stands = reads_answer.find_version(answer.project_id, self._slug)
        if stands is None or stands.ending != answer.ending:
            return None
        if not Version(stands.epoch, stands.version, stands.words_version).follows(since):
            return None
        rows = answer_parts.read_rows(look, self._rows_through)
        if rows is None:
            return None
        self._rows_through = stands.version
        is_settled = stands.version == since.position
        owed = [self._drawn_at + TIMELINE_EVERY_S - now] if self._plot_is_due else []
        owed += [] if is_settled else [self._looked_at + self._small_every_s - now]
        return Reading(since, (), rows, look.page.seen.ending.ended, is_settled, min(owed, default=None))

    def rows_since(self, project: ProjectRow, position: int) -> Sequence[tuple[int, Fragment]] | None:
        look = answer_parts.read_small(project, self._slug, self._operates, timeline=False)
        return () if look is None else answer_parts.read_rows(look, position)

    def whole(self, project: ProjectRow, through: int) -> Sequence[Fragment] | None:
        found = answer_parts.read_whole(project, self._slug, self._operates, through)
        return None if found is None else found[1]


class RunSource:
    looks_seldom = False

    def __init__(self, slug: str, role: str) -> None:
        self.slug: str | None = slug
        self._slug, self._audience = slug, Audience(role)
        self._drawn_at = 0.0
        self._followed = False

    def read(self, project: ProjectRow, since: Version | None, watched: Collection[str]) -> Reading | None:
        now = time.monotonic()
        draw = self._audience.operates and now - self._drawn_at >= TIMELINE_EVERY_S
        found = self._parts(project, dear=draw)
        if found is None:
            return None
        due = None
        if draw:
            self._drawn_at = now
        elif self._audience.operates:
            due = self._drawn_at + TIMELINE_EVERY_S - now
        page, parts = found
        return Reading(_version(page.live), parts, (), page.ending.ended, settled=False, due_s=due)

    def read_quickly(self, since: Version) -> Reading | None:
        return None

    def rows_since(self, project: ProjectRow, position: int) -> Sequence[tuple[int, Fragment]] | None:
        return ()

    def whole(self, project: ProjectRow, through: int) -> Sequence[Fragment] | None:
        found = self._parts(project, dear=True)
        return None if found is None else found[1]

    def _parts(self, project: ProjectRow, *, dear: bool) -> tuple[run.ReaderRunPage, list[Fragment]] | None:
        # Whoever has watched the run at work keeps its latest calls in view when it ends: nothing collapses.
        visit = Visit(project, self._audience, None)
        found = run.read_parts(visit, self._slug, dear=dear, with_latest=self._followed)
        if found is not None:
            self._followed = self._followed or found[0].following
        return found


class RunsSource:
    """The list: the rows that some page has in view, and whether there are newer runs."""

    slug: str | None = None
    looks_seldom = False

    def __init__(self, role: str) -> None:
        self._audience = Audience(role)
        self._watched: tuple[str, ...] = ()

    def read(self, project: ProjectRow, since: Version | None, watched: Collection[str]) -> Reading | None:
        self._watched = tuple(watched)
        tag, parts = runs.read_parts(Visit(project, self._audience, None), self._watched)
        return Reading(_version(tag), parts, (), finished=False, settled=False)

    def read_quickly(self, since: Version) -> Reading | None:
        return None

    def rows_since(self, project: ProjectRow, position: int) -> Sequence[tuple[int, Fragment]] | None:
        return ()

    def whole(self, project: ProjectRow, through: int) -> Sequence[Fragment] | None:
        return runs.read_parts(Visit(project, self._audience, None), self._watched)[1]


def _version(tag: LiveTag) -> Version:
    return Version(tag.epoch, tag.version, tag.words)

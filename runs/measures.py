"""What the server measures of itself, for Prometheus: counted once a batch, never once an event.

Labels are closed words only: types of the allow-list's table, domains it drops, codes of refusals. Nothing that a
sender wrote is ever one. Below everything that counts, so that every room can.

With several server processes set PROMETHEUS_MULTIPROC_DIR to an empty folder before they start: each then counts in
files there, whichever process is asked tells the sum, and whoever notices that one has ended calls `forget_process`.
"""

from __future__ import annotations

import os
import time
from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from runs.rules.kept import DROPPED_DOMAINS, KEPT
from runs.rules.refusals import CODES

disable_created_metrics()  # a second series for each, which nobody looks at
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
UNKNOWN, DELETED, OTHER = "unknown", "deleted", "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
EVENTS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000)
SUM = "livesum"  # of the processes that live

received = Counter("footprint_events_received", "Events brought by senders and settled, repeats included.")
acked = Counter("footprint_events_acked", "Events settled for good: kept, dropped, refused or repeated.")
repeated = Counter("footprint_events_repeated", "Events that were stored already.")
_kept = Counter("footprint_events_kept", "Events kept, by type.", ["type"])
_dropped = Counter("footprint_events_dropped", "Events the allow-list does not name, by domain.", ["domain"])
_refused = Counter("footprint_events_refused", "Events that could not be read or stored, by code.", ["code"])
commit_seconds = Histogram("footprint_commit_seconds", "From a batch's begin to its commit.", buckets=SECONDS)
batch_events = Histogram("footprint_batch_events", "Events a transaction.", buckets=EVENTS)
ack_seconds = Histogram("footprint_ack_seconds", "From a frame's receipt to its commit.", buckets=SECONDS)
waiting = Gauge("footprint_waiting_jobs", "What waits for the writer after a commit.", multiprocess_mode=SUM)
connections = Gauge("footprint_connections", "Senders connected.", multiprocess_mode=SUM)
watchers = Gauge("footprint_watchers", "Open pages that follow the record.", multiprocess_mode=SUM)
sweeps = Counter("footprint_sweeps", "Looks for runs that have gone silent.")
silenced = Counter("footprint_silenced_runs", "Runs found silent.")
retained_runs = Counter("footprint_retention_deleted_runs", "Runs deleted by the projects' retention.")

# Bound once: a label costs a lookup here and a lock there.
kept_of = {kind: _kept.labels(kind) for kind in (*KEPT, OTHER)}
dropped_of = {domain: _dropped.labels(domain) for domain in (*sorted(DROPPED_DOMAINS), UNKNOWN, DELETED)}
refused_of = {code: _refused.labels(code) for code in (*CODES, OTHER)}


@dataclass(slots=True)
class Counts:
    """What became of one batch's events. Counted in the transaction, told after its commit."""

    events: int = 0
    received_ms: int = 0
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    repeated: int = 0


def committed(seconds: float, batches: Iterable[Counts], jobs_waiting: int) -> None:
    """A transaction was committed after `seconds`."""
    now_ms = time.time_ns() // 1_000_000
    events, again = 0, 0
    kept: Tally[str] = Tally()
    dropped: Tally[str] = Tally()
    refused: Tally[str] = Tally()
    for counts in batches:
        events += counts.events
        again += counts.repeated
        kept.update(counts.kept)
        dropped.update(counts.dropped)
        refused.update(counts.refused)
        ack_seconds.observe(max(0, now_ms - counts.received_ms) / 1000)
    commit_seconds.observe(seconds)
    batch_events.observe(events)
    waiting.set(jobs_waiting)
    received.inc(events)
    acked.inc(events)
    if again:
        repeated.inc(again)
    for kind, count in kept.items():
        kept_of.get(kind, kept_of[OTHER]).inc(count)
    for domain, count in dropped.items():
        dropped_of.get(domain, dropped_of[UNKNOWN]).inc(count)
    for code, count in refused.items():
        refused_of.get(code, refused_of[OTHER]).inc(count)


def exposed() -> bytes:
    """Everything measured, in Prometheus's text format; of all processes where they share a folder."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return generate_latest(registry)


def forget_process(pid: int) -> None:
    """A server process has ended: what it had open counts no more. Its counters stay in the sums."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        mark_process_dead(pid)

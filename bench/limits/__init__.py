"""What this machine can do at most, measured in the same run as what is compared with it."""

from __future__ import annotations

from bench.harness import Figure


def beside_ingest(events_a_second: float, *, quick: bool) -> list[Figure]:
    """The limits of taking in events, and our rate as a share of them."""
    return []

"""`python -m bench.honesty`: how often a record that lost something says so. What the columns mean: README.md here."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any

import django


def count() -> dict[tuple[str, str, str], Counter[str]]:
    """(where, how, group of recordings) -> verdicts."""
    from tests.record.disturb import GROUPS, UNNOTICEABLE, Recording, Verdict, Where, judge

    table: dict[tuple[str, str, str], Counter[str]] = {}
    for group, names in GROUPS.items():
        for name in names:
            recording = Recording.read(name)
            whole = recording.record()
            for where in Where:
                for disturbance in recording.disturbances(where):
                    verdict = judge(whole, recording.record(disturbance), where)
                    cell = table.setdefault((where.value, disturbance.how, group), Counter())
                    cell[verdict.value] += 1
                    dropped = disturbance.how == "dropped" and where is not Where.TRANSIT
                    if verdict is Verdict.FALSE and dropped and recording.kind(disturbance) in UNNOTICEABLE:
                        cell["known"] += 1
    return table


COLUMNS = {
    "same": "same",
    "gap": "gap",
    "incomplete": "incomplete",
    "needless incomplete": "needless",
    "false complete": "false",
    "known": "of them known",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    django.setup()
    table = count()
    print(f"{'where':<27}{'how':<9}{'recordings':<24}" + "".join(f"{word:>14}" for word in COLUMNS.values()))
    sums: dict[str, Counter[str]] = {}
    for (where, how, group), cell in sorted(table.items()):
        print(f"{where:<27}{how:<9}{group:<24}" + "".join(f"{cell[name]:>14}" for name in COLUMNS))
        sums.setdefault(where, Counter()).update(cell)
    print(json.dumps({where: _rates(cell) for where, cell in sums.items()}))
    unexpected = sum(cell["false complete"] - cell["known"] for cell in sums.values())
    sys.exit(1 if unexpected else 0)


def _rates(cell: Counter[str]) -> dict[str, Any]:
    streams = sum(count for name, count in cell.items() if name != "known")
    return {
        "streams": streams,
        **{word.replace(" ", "_"): cell[name] for name, word in COLUMNS.items()},
        "false_rate": round(cell["false complete"] / streams, 5),
        "needless_rate": round(cell["needless incomplete"] / streams, 5),
    }


if __name__ == "__main__":
    main()

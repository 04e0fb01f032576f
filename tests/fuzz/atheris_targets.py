"""Coverage-guided fuzzing of one target: `python -m tests.fuzz.atheris_targets line -max_total_time=600`.

Needs atheris (`pip install atheris`), which is no requirement of the tests. It starts from tests/fuzz/corpus and from
the recordings, writes what it finds new to a folder of its own (--keep DIR, default: a temporary one), and what breaks
a promise to a file `crash-...` in the working directory: once fixed, it belongs into the corpus.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path


def main() -> None:
    import atheris

    name, *options = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    with atheris.instrument_imports(
        include=["runs.intake.frames", "runs.rules", "runs.record", "runs.intake.numbering"]
    ):
        import django

        django.setup()
        from tests.fuzz import targets
        from tests.recordings import FOLDER

    keep = Path(options.pop(options.index("--keep") + 1)) if "--keep" in options else Path(tempfile.mkdtemp())
    options = [option for option in options if option != "--keep"]
    keep.mkdir(parents=True, exist_ok=True)
    for place, file in enumerate(sorted(FOLDER.glob("*.jsonl"))):
        lines = file.read_bytes().splitlines()
        (keep / f"recorded-{place}").write_bytes(
            b"\n".join(lines[:40]) if name == "fold" else lines[place % len(lines)]
        )
    for path in targets.corpus(name):
        shutil.copy(path, keep)
    atheris.Setup([sys.argv[0], *options, str(keep)], targets.TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""What fuzzing has found or found interesting is kept, and replayed."""

from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, TARGETS, corpus

FILES = [(name, path) for name in TARGETS for path in corpus(name)]


@pytest.mark.parametrize(("name", "path"), FILES, ids=lambda one: one.name if isinstance(one, Path) else one)
def test_the_corpus_breaks_no_promise(name: str, path: Path) -> None:
    TARGETS[name](path.read_bytes())


def test_the_corpus_is_small_and_complete() -> None:
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()
    assert sum(path.stat().st_size for _, path in FILES) < 512 * 1024

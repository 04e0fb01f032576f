"""The embedding classifier: by meaning where no word is shared, from the package's own files."""

import time

import pytest

from runs.classifiers.embedding import Embedding
from runs.rules.tool_choice import Pick, ToolCandidate, pick_tools
from tests.classifiers.test_lexical import DESK


async def pick(message: str, tools: list[ToolCandidate] = DESK, **more: float) -> Pick:
    found = await pick_tools(Embedding(**more), user_message=message, candidates=tools, clock=time.monotonic)
    assert isinstance(found, Pick)
    return found


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        ("When does my package arrive?", "track_parcel"),
        ("I would like a reimbursement for my purchase", "issue_refund"),
        ("When are you open on Sunday?", "getStoreHours"),
    ],
)
async def test_meaning_is_found_without_a_word_in_common(message: str, tool: str) -> None:
    found = await pick(message)
    assert found.ranked[0].name == found.chosen == tool
    assert found.classifier.model == "wordllama-l2-supercat-256"


async def test_shares_are_a_distribution() -> None:
    found = await pick("When does my package arrive?")
    assert len(found.ranked) == len(DESK)
    assert sum(score.score for score in found.ranked) == pytest.approx(1)
    assert (await pick("When does my package arrive?", temperature=0.01)).confidence > found.confidence


@pytest.mark.parametrize("message", ["", " \n"])
async def test_nothing_asked_ranks_nothing(message: str) -> None:
    assert (await pick(message)).ranked == ()
    assert (await pick("anything", [])).ranked == ()


@pytest.mark.parametrize("message", ["\x00", "🐑" * 500, "word " * 20_000])
async def test_whatever_is_asked_gives_numbers(message: str) -> None:
    assert all(0 <= score.score <= 1 for score in (await pick(message)).ranked)


async def test_the_network_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from runs.classifiers import embedding

    embedding._model.cache_clear()
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("it wants the network"))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it wants the network"))
    await pick("Where is it?")


def test_a_temperature_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above 0"):
        Embedding(-1)

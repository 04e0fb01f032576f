"""The Python sender sends what the list would keep: of every recording, and of every kind of field."""

import json

import pytest

from runs.rules import kept
from runs.sender import listed
from tests import recordings
from tests.readers.markers import Disguise, own_stream


@pytest.mark.parametrize("name", [*recordings.names(), "our own"])
def test_what_is_sent_is_kept_as_the_event_itself_would_be(name: str) -> None:
    lines = own_stream(Disguise()) if name == "our own" else recordings.lines(name)
    for line in lines:
        sent = listed.line_of(json.loads(line))
        verdict = kept.keep(line)
        if isinstance(verdict, kept.Kept):
            assert sent is not None
            assert sent.data is not None
            again = kept.keep(sent.data)
            assert isinstance(again, kept.Kept)
            assert kept.encode_body(again) == kept.encode_body(verdict)
            assert again.texts == verdict.texts
        elif isinstance(verdict, kept.Dropped):
            assert sent is None

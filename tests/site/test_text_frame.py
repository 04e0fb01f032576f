"""Frames that are made once, read by a client that knows the protocol."""

import pytest
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from footprint_site.text_frame import text_frame


@pytest.mark.parametrize(
    "text", ["", "beat", "\u2713" * 41, "x" * 125, "x" * 126, "x" * 65_535, "x" * 65_536]
)
def test_every_size_reads_back(text: str) -> None:
    reader = StreamReader()
    reader.feed_data(text_frame(text))
    parsing = Frame.parse(reader.read_exact, mask=False, max_size=None)
    with pytest.raises(StopIteration) as parsed:
        next(parsing)
    frame = parsed.value.value
    assert (frame.opcode, frame.fin, bytes(frame.data).decode()) == (Opcode.TEXT, True, text)

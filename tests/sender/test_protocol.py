"""The sender's half of the wire, one exchange at a time."""

import json
from typing import Any

import pytest

from runs.sender.buffer import Buffer
from runs.sender.protocol import MOST_GHOSTS, PASSING, STOPPING, Finished, Protocol, Retry, Stop

LIMITS = {"frameBytes": 8_000_000, "eventBytes": 4_000_000, "window": 1000}


def protocol(**buffer: Any) -> Protocol:
    return Protocol(Buffer(**buffer), chance=lambda: 1.0)


def welcome(core: Protocol, acked: int = 0, **limits: int) -> None:
    core.hello()
    frame = {"type": "welcome", "protocol": 1, "stream": core.buffer.stream, "acked": acked, "keepText": True}
    core.received(json.dumps(frame | {"limits": LIMITS | limits}))


def ack(core: Protocol, through: int) -> None:
    core.received(json.dumps({"type": "ack", "through": through}))


def emitted(core: Protocol, count: int) -> None:
    for _ in range(count):
        core.buffer.append(b'{"n":%d}' % (core.buffer.last + 1))


def told(core: Protocol) -> list[Any]:
    """What the frames say: numbers of events, and whole objects for the rest."""
    said: list[Any] = []
    for frame in core.frames():
        head, *lines = frame.split(b"\n")
        header = json.loads(head)
        if header["type"] != "events":
            said.append(header)
            continue
        numbers = [json.loads(line)["n"] for line in lines]
        assert numbers == list(range(header["first"], header["first"] + len(lines)))
        said.append(numbers)
    return said


def test_a_hello_names_the_stream_and_the_last_number():
    core = Protocol(Buffer(name="desk"), sender="me/1", token="fp_x")
    emitted(core, 3)
    hello = json.loads(core.hello())
    assert hello.pop("stream").startswith("desk-")
    assert len(hello.pop("instance")) == 32
    assert hello == {"type": "hello", "protocol": 1, "sender": "me/1", "last": 3, "token": "fp_x"}
    assert "token" not in json.loads(protocol().hello())


def test_nothing_is_sent_before_the_welcome():
    core = protocol()
    emitted(core, 2)
    core.hello()
    assert told(core) == []
    welcome(core)
    assert told(core) == [[1, 2]]


def test_events_stop_at_the_window_and_go_on_with_the_acks():
    core = protocol()
    emitted(core, 5)
    welcome(core, window=2)
    assert told(core) == [[1, 2]]
    ack(core, 1)
    assert told(core) == [[3]]
    ack(core, 3)
    assert told(core) == [[4, 5]]
    assert core.expects_word
    ack(core, 5)
    assert not core.expects_word
    assert len(core.buffer) == core.buffer.bytes == 0


def test_a_new_connection_goes_on_after_what_the_server_has():
    core = protocol()
    emitted(core, 4)
    welcome(core)
    told(core)
    assert isinstance(core.disconnected(1006), Retry)
    emitted(core, 1)
    welcome(core, acked=2)
    assert told(core) == [[3, 4, 5]]


def test_frames_keep_to_the_servers_size():
    core = protocol()
    emitted(core, 30)
    welcome(core, frameBytes=100)
    frames = core.frames()
    assert len(frames) > 3
    assert all(len(frame) <= 100 for frame in frames)


def test_an_event_over_the_servers_size_is_lost_and_the_rest_arrives():
    core = protocol()
    emitted(core, 1)
    core.buffer.append(b"{" + b" " * 100 + b"}")
    emitted(core, 1)
    welcome(core, eventBytes=50)
    assert told(core) == [[1], {"type": "lost", "from": 2, "to": 2}, [3]]
    assert core.buffer.lost == 1


def test_thousands_of_events_that_fit_no_frame_are_one_loss():
    core = protocol()
    for _ in range(5000):
        core.buffer.append(b"{" + b" " * 100 + b"}")
    welcome(core, frameBytes=80)
    assert told(core) == [{"type": "lost", "from": 1, "to": 5000}]


def test_a_number_without_an_event_is_lost():
    core = protocol()
    emitted(core, 1)
    core.buffer.skip()
    core.buffer.skip()
    welcome(core)
    assert told(core) == [[1], {"type": "lost", "from": 2, "to": 3}]
    emitted(core, 1)
    assert told(core) == [[4]]


def test_a_full_buffer_gives_up_the_oldest_and_says_so():
    core = protocol(max_events=3)
    emitted(core, 10)
    welcome(core, window=5)
    assert told(core) == [{"type": "lost", "from": 1, "to": 7}], "8 lies outside of the window of 5"
    ack(core, 7)
    assert told(core) == [[8, 9, 10]]
    assert core.buffer.lost == 7


def test_what_was_on_its_way_when_it_was_given_up_is_lost_only_if_it_did_not_arrive():
    core = protocol(max_events=2)
    emitted(core, 2)
    welcome(core)
    assert told(core) == [[1, 2]]
    emitted(core, 2)
    assert told(core) == [[3, 4]], "1 and 2 are on their way and may arrive"
    core.disconnected(1006)
    welcome(core, acked=1)
    assert told(core) == [{"type": "lost", "from": 2, "to": 2}, [3, 4]]


def test_a_buffer_is_bounded_in_bytes_too():
    core = protocol(max_bytes=100)
    emitted(core, 1000)
    assert core.buffer.bytes <= 100
    assert core.buffer.bytes == sum(len(line) for _, line in core.buffer._waiting)


def test_refusals_are_kept_without_a_value_and_the_latest_only():
    core = protocol()
    welcome(core)
    for number in range(300):
        frame = {"type": "refused", "seq": number, "code": "shape", "reason": "payload.x: expected a\nlist"}
        assert core.received(json.dumps(frame)) is not None
    assert core.refused_count == 300
    assert [one.seq for one in core.refused] == list(range(200, 300))
    assert core.refused[-1].reason == "payload.x: expected a list"


def test_bye_is_the_last_word_and_ends_when_all_is_settled():
    core = protocol()
    emitted(core, 2)
    core.ending = True
    welcome(core, window=1)
    assert told(core) == [[1]]
    ack(core, 1)
    assert told(core) == [[2], {"type": "bye", "last": 2}]
    ack(core, 2)
    assert isinstance(core.disconnected(1000), Finished)


def test_bye_is_said_again_when_the_connection_was_lost_before_its_answer():
    core = protocol()
    emitted(core, 1)
    core.ending = True
    welcome(core)
    told(core)
    assert isinstance(core.disconnected(1006), Retry)
    welcome(core, acked=1)
    assert told(core) == [{"type": "bye", "last": 1}]
    assert isinstance(core.disconnected(1000), Finished), (
        "a server that acked in its welcome need not do it again"
    )


@pytest.mark.parametrize("code", STOPPING)
def test_codes_that_a_person_must_mend_stop(code):
    core = protocol()
    welcome(core)
    assert core.disconnected(code) == Stop(code, STOPPING[code])


@pytest.mark.parametrize("code", [*PASSING, 1005, 4999])
def test_every_other_code_is_tried_again(code):
    core = protocol()
    welcome(core)
    assert isinstance(core.disconnected(code), Retry)


def test_its_own_hello_heard_late_does_not_end_it_and_a_rival_does():
    core = protocol()
    emitted(core, 3)
    core.hello()  # never answered: it may be on its way still
    assert isinstance(core.disconnected(1006), Retry)
    core.hello()
    welcome(core)
    core.frames()
    assert isinstance(core.disconnected(4409), Retry)
    core.hello()
    welcome(core, acked=3)
    assert core.disconnected(4409) == Stop(4409, STOPPING[4409])


def test_a_day_of_unanswered_hellos_excuses_a_few_takeovers_only():
    core = protocol()
    for _ in range(1_000):
        core.hello()
        core.disconnected(1006)
    takeovers = 0
    while True:
        core.hello()
        welcome(core)
        if isinstance(core.disconnected(4409), Stop):
            break
        takeovers += 1
    assert takeovers == MOST_GHOSTS


def test_a_buffer_of_an_earlier_life_may_have_a_hello_on_its_way():
    buffer = Buffer()
    buffer.append(b"{}")
    core = Protocol(buffer)
    core.hello()
    welcome(core)
    assert isinstance(core.disconnected(4409), Retry)
    core.hello()
    welcome(core)
    assert isinstance(core.disconnected(4409), Stop)


def test_the_closing_frame_speaks_for_a_close_without_a_code():
    core = protocol()
    welcome(core)
    core.received('{"type":"closing","code":4401,"reason":"The token was revoked."}')
    assert isinstance(core.disconnected(1006), Stop)
    welcome(core)
    assert isinstance(core.disconnected(1006), Retry), "it speaks for its own connection only"


def test_what_there_was_too_much_of_is_told():
    core = protocol()
    welcome(core)
    core.received(
        '{"type":"closing","code":4429,"reason":"at most 2 connections may use this token at once"}'
    )
    verdict = core.disconnected(4429)
    assert isinstance(verdict, Retry)
    assert verdict.sentence == (
        "The server asked to send more slowly. It says: at most 2 connections may use this token at once."
    )


def test_pauses_grow_have_a_ceiling_and_start_anew_after_an_ack():
    core = protocol()
    emitted(core, 2)

    def pause(code: int = 1006) -> float:
        verdict = core.disconnected(code)
        assert isinstance(verdict, Retry)
        return verdict.after

    assert [pause() for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    welcome(core)
    told(core)
    assert pause() == 30, "a welcome alone proves nothing while there is something to settle"
    welcome(core)
    told(core)
    ack(core, 1)
    assert pause() == 0.5
    assert pause(4429) == 21


def test_a_frame_too_large_makes_the_next_ones_smaller_until_the_culprit_is_lost():
    core = protocol()
    emitted(core, 1)
    core.buffer.append(b"{" + b" " * 20_000 + b"}")
    emitted(core, 1)
    for _ in range(3):
        welcome(core)
        said = core.frames()
        if len(said) == 3:
            break
        core.disconnected(1009)
    assert json.loads(said[1]) == {"type": "lost", "from": 2, "to": 2}


def test_a_server_that_knows_more_than_a_fresh_buffer_gets_another_stream():
    core = protocol()
    emitted(core, 2)
    old = core.buffer.stream
    welcome(core, acked=7)
    assert core.must_reconnect
    assert told(core) == []
    assert core.disconnected(1000) == Retry(0.0, "The stream starts again under another name.")
    assert core.buffer.stream != old
    welcome(core)
    assert [len(frame.split(b"\n")) for frame in core.frames()] == [3], "both events, numbered from 1"


def test_a_server_that_went_back_to_an_older_copy_hears_of_the_loss():
    core = protocol()
    emitted(core, 4)
    welcome(core)
    told(core)
    ack(core, 3)
    core.disconnected(1012)
    welcome(core, acked=1)
    assert told(core) == [{"type": "lost", "from": 2, "to": 3}, [4]]


@pytest.mark.parametrize(
    "text",
    [
        "", "no", "[]", "7", '{"type":9}', '{"type":"ack"}', '{"type":"ack","through":-1}',
        '{"type":"ack","through":true}', '{"type":"ack","through":999}', '{"type":"welcome"}',
        '{"type":"welcome","acked":0,"limits":{"frameBytes":0,"eventBytes":1,"window":1}}',
        '{"type":"closing","code":"x"}', "[" * 100_000, b"\xff\xfe", '{"type":"news"}',
    ],
)  # fmt: skip
def test_odd_frames_of_a_server_change_nothing(text):
    core = protocol()
    emitted(core, 2)
    core.hello()
    core.received(text)
    assert not core.welcomed
    welcome(core)
    core.received(text)
    assert (core.buffer.acked, len(core.buffer)) == (0, 2)
    assert told(core) == [[1, 2]]

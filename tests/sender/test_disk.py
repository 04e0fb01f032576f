"""Events that wait on disk for the agent's next process."""

import logging
import os

import pytest

from runs.sender import Buffer, DiskBuffer
from runs.sender.disk import FolderInUse


def lines(buffer: Buffer) -> list[tuple[int, bytes]]:
    return [*buffer._sent, *buffer._waiting]


def line(number: int) -> bytes:
    return b'{"n":%d}' % number


def files(folder):
    return sorted(folder.glob("*.events"))


def test_the_next_process_goes_on_with_stream_numbers_and_events(tmp_path):
    first = DiskBuffer(tmp_path, name="desk")
    for number in (1, 2):
        first.append(line(number))
    first.skip()
    first.append(line(4))
    first.close()

    second = DiskBuffer(tmp_path)
    assert (second.stream, second.instance) == (first.stream, first.instance)
    assert lines(second) == [(1, line(1)), (2, line(2)), (4, line(4))]
    assert second.append(line(5)) == 5
    second.close()

    third = DiskBuffer(tmp_path)
    assert [number for number, _ in lines(third)] == [1, 2, 4, 5]


def test_a_killed_process_loses_nothing(tmp_path):
    pid = os.fork()
    if not pid:
        buffer = DiskBuffer(tmp_path)
        for number in range(1, 101):
            buffer.append(line(number))
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert len(DiskBuffer(tmp_path)) == 100


def test_a_torn_last_line_is_left_out_and_its_number_used_again(tmp_path, caplog):
    first = DiskBuffer(tmp_path)
    first.append(line(1))
    first.append(line(2))
    first.close()
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    for cut in range(len(whole) - len(b"2 " + line(2) + b"\n"), len(whole)):
        for other in files(tmp_path):
            other.unlink()
        path.write_bytes(whole[:cut])
        torn = DiskBuffer(tmp_path)
        assert torn.stream == first.stream
        assert lines(torn) == [(1, line(1))]
        assert torn.append(b'{"new":2}') == 2
        torn.close()
        again = DiskBuffer(tmp_path)
        assert lines(again) == [(1, line(1)), (2, b'{"new":2}')]
        again.close()
    assert "torn" in caplog.text
    assert '"n"' not in caplog.text


def test_a_file_that_is_none_of_ours_begins_a_new_stream(tmp_path):
    for junk in (b"", b"\x00" * 50, b"{}\n", b"[1]\n1 {}\n", b'{"stream":1,"instance":2,"before":3}\n'):
        path = tmp_path / "000001-000000000000001.events"
        path.write_bytes(junk)
        buffer = DiskBuffer(tmp_path)
        assert lines(buffer) == []
        assert buffer.append(line(1)) == 1
        buffer.close()
        buffer.finish()


def test_settled_events_leave_the_disk_and_the_numbering_stays(tmp_path):
    first = DiskBuffer(tmp_path, max_bytes=800)
    for number in range(1, 61):
        first.append(line(number))
    assert len(files(tmp_path)) > 3
    first.resume(0)
    first.settle(60)
    assert len(files(tmp_path)) == 1
    first.close()

    second = DiskBuffer(tmp_path)
    assert (second.stream, second.last) == (first.stream, 60)
    assert second.append(line(61)) == 61


def test_the_folder_is_bounded_when_the_server_stays_away(tmp_path):
    buffer = DiskBuffer(tmp_path, max_bytes=8_000)
    for number in range(1, 5_001):
        buffer.append(line(number))
    assert sum(path.stat().st_size for path in files(tmp_path)) < 2 * 8_000 + 2_000
    buffer.close()
    second = DiskBuffer(tmp_path, max_bytes=8_000)
    assert second.last == 5_000
    assert second.bytes <= 8_000


def test_a_power_cut_that_took_numbers_back_opens_another_stream(tmp_path):
    first = DiskBuffer(tmp_path)
    for number in (1, 2, 3):
        first.append(line(number))
    first.close()
    (path,) = files(tmp_path)
    os.truncate(path, path.stat().st_size - len(b"3 " + line(3) + b"\n"))

    second = DiskBuffer(tmp_path)
    second.append(b'{"new":3}')
    second.resume(3)  # the server has a 3, and it is another one
    assert second.identity_changed
    assert second.stream != first.stream
    assert lines(second) == [(1, b'{"new":3}')]
    second.close()

    third = DiskBuffer(tmp_path)
    assert (third.stream, lines(third)) == (second.stream, [(1, b'{"new":3}')])


def test_a_process_that_never_reached_the_server_does_not_vouch_for_its_numbers(tmp_path):
    """A power cut takes numbers back, the next process uses them again, and ends before the server answers."""
    first = DiskBuffer(tmp_path)
    first.append(line(1))
    first.append(line(2))
    first.resume(0)
    first.close()
    newest = files(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-3])
    second = DiskBuffer(tmp_path)
    assert second.append(b'{"new":2}') == 2
    second.close()

    third = DiskBuffer(tmp_path)
    third.resume(2)  # the server has both of the first process's
    assert third.identity_changed
    assert lines(third) == [(1, b'{"new":2}')]
    third.resume(0)
    third.close()
    fourth = DiskBuffer(tmp_path)
    fourth.resume(1)  # answered once, a process vouches again
    assert not fourth.identity_changed
    assert (fourth.stream, fourth.acked) == (third.stream, 1)
    fourth.close()


def test_what_was_given_up_before_the_first_answer_is_a_hole_under_the_new_name_too(tmp_path):
    first = DiskBuffer(tmp_path)
    first.append(line(1))
    first.append(line(2))
    first.close()
    newest = files(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-3])
    second = DiskBuffer(tmp_path, max_events=2)
    for number in (2, 3, 4):
        second.append(line(number))
    second.skip()
    lost = second.lost
    second.resume(2)
    assert second.identity_changed
    assert lines(second) == [(2, line(3)), (3, line(4))]
    assert (second.last, second.lost) == (4, lost)
    second.close()
    assert lines(DiskBuffer(tmp_path)) == [(2, line(3)), (3, line(4))]


def test_a_stream_that_was_finished_is_not_continued(tmp_path):
    first = DiskBuffer(tmp_path)
    first.append(line(1))
    first.finish()
    first.close()
    assert DiskBuffer(tmp_path).stream != first.stream


def test_two_processes_do_not_share_a_folder(tmp_path):
    first = DiskBuffer(tmp_path)
    with pytest.raises(FolderInUse):
        DiskBuffer(tmp_path)
    first.close()
    DiskBuffer(tmp_path).close()


def test_a_full_disk_leaves_the_agent_with_memory(tmp_path, caplog, monkeypatch):
    buffer = DiskBuffer(tmp_path)
    buffer.append(line(1))
    write = os.write

    def full(file, data):
        if len(data) > 3:
            return write(file, data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert buffer.append(line(2)) == 2
    assert not buffer.on_disk
    assert buffer.append(line(3)) == 3
    monkeypatch.undo()
    assert len(buffer) == 3
    buffer.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert lines(DiskBuffer(tmp_path)) == [(1, line(1))]

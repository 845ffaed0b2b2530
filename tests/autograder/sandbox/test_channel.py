"""Frames arrive whole or not at all, whatever the other side sends."""

import contextlib
import json
import random
import socket
import threading
import time

import pytest

from autograder.probe.deadline import deadline
from autograder.sandbox.channel import (
    LARGEST_BODY,
    LARGEST_HEADER,
    LENGTHS,
    Channel,
    ChannelClosed,
    FrameTooLarge,
)

SOON = 0.2


@pytest.fixture
def ends():
    """The two ends of a channel; the second one is a bare socket, which may send anything."""
    one, other = socket.socketpair()
    with one, other:
        yield Channel(one, dict), other


def frame(header, body=b"", header_length=None, body_length=None):
    """A frame's bytes, or what pretends to be one."""
    lengths = (
        len(header) if header_length is None else header_length,
        len(body) if body_length is None else body_length,
    )
    return LENGTHS.pack(*lengths) + header + body


def soon():
    return time.monotonic() + SOON


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({}, b""),
        ({"do": "cell", "code": "print('ω ≠ ∂')\n" * 1000, "cpu": 20}, b""),
        ({"half a character": "\ud800", "none": None, "numbers": [1, 2.5, True]}, bytes(range(256))),
        ({"large": "x" * (5 << 20)}, bytes(9 << 20)),
    ],
)  # fmt: skip
def test_a_frame_arrives_as_it_was_sent(ends, header, body):
    channel, other = ends
    sender = threading.Thread(target=Channel(other, dict).send, args=(header, body))
    sender.start()
    assert channel.receive(time.monotonic() + 20) == (header, body)
    sender.join()


def test_frames_of_several_threads_do_not_mix(ends):
    channel, other = ends
    there = Channel(other, dict)

    def send_some(name):
        for number in range(50):
            there.send({"who": name, "number": number}, bytes([name]) * 20_000)

    threads = [threading.Thread(target=send_some, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    arrived = [channel.receive(time.monotonic() + 20) for _ in range(200)]
    for thread in threads:
        thread.join()
    for name in range(4):
        own = [(header["number"], body) for header, body in arrived if header["who"] == name]
        assert own == [(number, bytes([name]) * 20_000) for number in range(50)]


@pytest.mark.parametrize(
    ("header", "body"),
    [({"text": "x" * LARGEST_HEADER}, b""), ({}, bytes(LARGEST_BODY + 1))],
    ids=["header", "body"],
)
def test_a_frame_that_nobody_would_read_is_not_sent(ends, header, body):
    channel, other = ends
    there = Channel(other, dict)
    with pytest.raises(FrameTooLarge, match="a frame of"):
        there.send(header, body)
    there.send({"after": 1})
    assert channel.receive(soon()) == ({"after": 1}, b"")


@pytest.mark.parametrize(
    "sent",
    [
        frame(b"{}", header_length=LARGEST_HEADER + 1),
        frame(b"{}", body_length=LARGEST_BODY + 1),
        frame(b"{}", header_length=2**32 - 1, body_length=2**32 - 1),
        b"Traceback (most recent call last)",
        frame(b""),
        frame(b"no json"),
        frame(b"\xff\xfe\x00"),
        frame(b"[1, 2]"),
        frame(b"null"),
        frame(b'"text"'),
        frame(b"9" * 10_000),
        frame(b"[" * 1_000_000),
        frame(b'{"a":' * 1_000_000),
    ],
    ids=[
        "large_header", "large_body", "all_large", "text", "nothing", "no_json", "no_text", "list", "null",
        "string", "number", "deep_list", "deep_object",
    ],
)  # fmt: skip
def test_what_is_no_frame_ends_the_channel_at_once(ends, sent):
    channel, other = ends

    def send():
        with contextlib.suppress(OSError):  # of what is too large, nothing more is read
            other.sendall(sent)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(ChannelClosed, match=r"frame"):
        channel.receive(time.monotonic() + 20)
    channel.close()
    sender.join()


halves = pytest.mark.parametrize(
    "sent",
    [b"", b"\0\0", frame(b'{"a": 1}')[:-1], frame(b"{}", b"12345")[:-1]],
    ids=["nothing", "lengths", "header", "body"],
)


@halves
def test_who_is_gone_or_leaves_in_the_middle_is_said_to_be_gone(ends, sent):
    channel, other = ends
    other.sendall(sent)
    other.close()
    with pytest.raises(ChannelClosed, match="the other side has ended"):
        channel.receive(time.monotonic() + 20)


def test_nobody_can_be_sent_anything_who_is_gone(ends):
    channel, other = ends
    other.close()
    with pytest.raises(ChannelClosed):
        channel.send({})


def test_a_channel_that_was_closed_here_is_closed(ends):
    channel, _ = ends
    channel.close()
    for use in (channel.receive, lambda: channel.send({})):
        with pytest.raises(ChannelClosed):
            use()


@halves
def test_half_a_frame_is_waited_for_no_longer_than_was_said(ends, sent):
    channel, other = ends
    other.sendall(sent)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        channel.receive(began + SOON)
    assert time.monotonic() - began >= SOON


def test_who_gave_up_in_the_middle_of_a_frame_may_go_on_waiting_for_it(ends):
    channel, other = ends
    text = b'{"type":"stream","content":{"text":"whole"}}'
    frame = LENGTHS.pack(len(text), 4) + text + b"body"
    for piece in (frame[:3], frame[3:20], frame[20:-2]):
        other.sendall(piece)
        with pytest.raises(TimeoutError):
            channel._frame(time.monotonic() + 0.05)
    other.sendall(frame[-2:])
    assert channel._frame(time.monotonic() + 20) == (text, b"body")


def test_who_sends_a_byte_now_and_then_gains_no_time(ends):
    channel, other = ends
    over = threading.Event()

    def drip():
        for byte in frame(json.dumps({"text": "x" * 100_000}).encode()):
            if over.wait(SOON / 5):
                return
            other.send(bytes([byte]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises(TimeoutError):
        channel.receive(time.monotonic() + 3 * SOON)
    assert dripping.is_alive(), "it ended although bytes still came"
    over.set()
    dripping.join()


def test_a_moment_that_has_passed_is_too_late_also_for_what_is_there(ends):
    channel, other = ends
    for number in range(3):
        Channel(other, dict).send({"number": number})
    with pytest.raises(TimeoutError):
        channel.receive(time.monotonic() - 1)
    assert channel.receive(soon()) == ({"number": 0}, b"")
    with pytest.raises(TimeoutError):  # although the next one has come along with it
        channel.receive(time.monotonic() - 1)
    assert channel.receive() == ({"number": 1}, b"")


class TooLateError(Exception):
    """What a deadline raises."""


def test_an_error_of_a_deadline_comes_between_frames_and_never_in_one(ends, monkeypatch):
    monkeypatch.setattr("autograder.probe.deadline.TIMES_SLOWER", 0)  # all of it counts as waiting
    channel, other = ends
    there = Channel(other, dict)
    arrived, body = [], bytes(300_000)  # more than a socket holds, so that sending takes a while

    def read():
        with channel.socket:
            while not arrived or arrived[-1][0] != {"last": True}:
                arrived.append(channel.receive(time.monotonic() + 20))

    reader = threading.Thread(target=read)
    reader.start()
    rung = sent = 0
    while rung < 100 or sent < 100:  # however long a frame takes, it is rung before and after that
        try:
            with deadline(20, random.uniform(0.0001, 0.005), TooLateError):
                there.send({}, body)
                sent += 1
                time.sleep(random.uniform(0, 0.005))
        except TooLateError:
            rung += 1
    there.send({"last": True})
    reader.join()
    assert len(arrived) - 1 >= sent
    assert all(content == ({}, body) for content in arrived[:-1])


def test_who_reads_no_more_is_not_waited_for_longer_than_was_said(ends):
    channel, _ = ends
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        channel.send({}, bytes(10 << 20), began + SOON)
    assert time.monotonic() - began >= SOON


def test_who_reads_a_byte_now_and_then_is_not_waited_for_either(ends):
    channel, other = ends
    over = threading.Event()

    def sip():
        while not over.wait(SOON / 50):
            other.recv(10)

    sipping = threading.Thread(target=sip)
    sipping.start()
    with pytest.raises(TimeoutError):
        channel.send({}, bytes(10 << 20), time.monotonic() + 3 * SOON)
    assert sipping.is_alive(), "it ended although bytes were still read"
    over.set()
    sipping.join()


def test_what_is_sent_in_time_arrives_whole(ends):
    channel, other = ends
    body = bytes(range(256)) * 100_000
    sender = threading.Thread(
        target=Channel(other, dict).send, args=({}, body, time.monotonic() + 20)
    )
    sender.start()
    assert channel.receive(time.monotonic() + 20) == ({}, body)
    sender.join()

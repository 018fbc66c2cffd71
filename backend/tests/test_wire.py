"""wire: any bytes decode or raise BadFrame; decode reads what encode writes."""

import time
from itertools import pairwise
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstage.stage.wire import MAX_FIELDS, BadFrame, Message, Splitter, decode, encode

NAMES = st.text(min_size=1).filter(lambda name: name != "mode")


@given(st.text(), st.dictionaries(NAMES, st.text(), max_size=20))
def test_encode_is_safe_and_decode_is_its_inverse(mode: str, fields: dict[str, str]) -> None:
    frame = encode(mode, **fields)
    assert frame.endswith(b"\0")
    assert frame.count(b"\0") == 1
    assert decode(frame[:-1]) == Message(mode, fields)
    assert set(frame[:-1].decode()) <= set(f"{ascii_letters}{digits}_.-+%&=")


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (encode("SET", ID="sock_7"), b"ID=sock_7&mode=SET\0"),
        (encode("X", a="a b/c\n~", b=True, c=None, d=80.0), b"a=a+b%2Fc%0A%7E&b=True&c=None&d=80.0&mode=X\0"),
        (encode("CONFIRM_LOADED"), b"mode=CONFIRM_LOADED\0"),
        (encode("X", a="\ud800"), b"a=%3F&mode=X\0"),
    ],
)
def test_frames_are_encoded_as_upstage_encodes_them(frame: bytes, expected: bytes) -> None:
    assert frame == expected


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"msg=Good%20evening&mode=TEXT", Message("TEXT", {"msg": "Good evening"})),
        (b"mode=TEXT;msg=a+b", Message("TEXT", {"msg": "a b"})),
        (b"a=1&a=2&mode=X", Message("X", {"a": "2"})),
        (b"a=&mode=X", Message("X", {"a": ""})),
        (b"mode=X" + b"&a=1" * (MAX_FIELDS - 1), Message("X", {"a": "1"})),
        ("msg=é&mode=X".encode(), Message("X", {"msg": "é"})),
        (b"msg=\xff%ff%zz&mode=X", Message("X", {"msg": "\ufffd\ufffd%zz"})),
    ],
)
def test_valid_frames_are_decoded(frame: bytes, message: Message) -> None:
    assert decode(frame) == message


@pytest.mark.parametrize(
    "frame",
    [
        *(b"", b"&", b"mode", b"a=1", b"mode=A&mode=B", b"mode=A&x", b"<policy-file-request/>"),
        b"mode=X" + b"&a=1" * MAX_FIELDS,
    ],
)
def test_bad_frames_are_rejected(frame: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(frame)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(BadFrame, match="JOIN needs the field stage_ID"):
        Message("JOIN", {}).need("stage_ID")


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)), st.integers(1, 12))
def test_the_same_frames_are_found_however_they_are_cut(stream: bytes, cuts: list[int], limit: int) -> None:
    splitter = Splitter(limit)
    found = []
    edges = [0, *sorted(cuts), len(stream)]
    for start, end in pairwise(edges):
        splitter.feed(stream[start:end])
        found += splitter.frames()
        assert len(splitter._held) <= limit
    *whole, rest = stream.split(b"\0")
    assert found == [frame for frame in whole if len(frame) <= limit]
    assert splitter.overlong == sum(len(frame) > limit for frame in [*whole, rest])


def test_a_million_frames_take_no_longer_than_their_bytes() -> None:
    splitter = Splitter()
    began = time.process_time()
    splitter.feed(bytes(1_000_000))
    assert sum(1 for _ in splitter.frames()) == 1_000_000
    assert time.process_time() - began < 5

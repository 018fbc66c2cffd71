"""Sounds: two recordings of the demo stage, joined frame by frame; no encoder is needed.

An MP3 is a sequence of frames (https://www.codeproject.com/Articles/8295/MPEG-Audio-Frame-Header). The first
frame of a recording refers to no earlier one, so another copy may follow any frame.
"""

from collections.abc import Iterator

from upstage.festival.acts import Sound
from upstage.settings import PACKAGE

RECORDINGS = {"bell": "curtain-bell.mp3", "box": "music-box.mp3"}
# MPEG 1, layer III: kbit/s and Hz by their numbers in the header.
BIT_RATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
SAMPLE_RATES = (44_100, 48_000, 32_000)


def join(sound: Sound) -> bytes:
    """Return an MP3 with all parts of a sound, one after another."""
    folder = PACKAGE / "content" / "demo" / "audio"
    return b"".join(
        b"".join(frames((folder / RECORDINGS[part]).read_bytes())) * times for part, times in sound.parts
    )


def frames(recording: bytes) -> Iterator[bytes]:
    """Yield the frames of a recording, without its tags and without the encoder's frame about its length."""
    at = 0
    if recording.startswith(b"ID3"):
        at = 10
        for place, seven_bits in enumerate(reversed(recording[6:10])):
            at += seven_bits << 7 * place
    while recording[at : at + 2] == b"\xff\xfb":
        header = recording[at + 2]
        rate, samples, padding = BIT_RATES[header >> 4], SAMPLE_RATES[header >> 2 & 3], header >> 1 & 1
        size = 144_000 * rate // samples + padding
        frame = recording[at : at + size]
        if b"Info" not in frame[:40] and b"Xing" not in frame[:40]:
            yield frame
        at += size

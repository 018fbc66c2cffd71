"""Speech under a fake clock: the queue, its times, and its files."""

import shutil
import subprocess
from pathlib import Path

import pytest
from twisted.internet.error import ProcessDone, ProcessTerminated
from twisted.logger import capturedLogs

from backend.tests.fake_programs import Machine
from upstage.media import speech
from upstage.media.speech import Numbers, Speaker
from upstage.media.voices import VOICES


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def speaker(tmp_path: Path, machine: Machine) -> Speaker:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in speech.PROGRAMS:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    folder = tmp_path / "speech"
    folder.mkdir()
    speaker = Speaker(folder, machine, cores=2, path=str(programs))
    speaker.startService()
    return speaker


def number(url: str | None) -> int:
    assert url
    return int(url.removeprefix("/speech/utter-").removesuffix(".mp3"))


def heard_of(speaker: Speaker, *urls: str | None) -> list[Path]:
    """Request recordings; return a list to which each path is added when its file is there."""
    heard: list[Path] = []
    for url in urls:
        speaker.file(number(url)).addCallback(heard.append)
    return heard


def test_a_request_before_the_file_exists_waits(speaker: Speaker, machine: Machine) -> None:
    url = speaker.speak("default", "Guten Abend, Bühne")
    heard = heard_of(speaker, url, url, url)
    assert (heard, speaker.waiting) == ([], 3)
    machine.finish(b"evening")
    assert [path.read_bytes() for path in heard] == [b"evening"] * 3
    assert heard[0].name == f"utter-{number(url)}.mp3"
    assert speaker.waiting == 0
    assert len(heard_of(speaker, url)) == 1
    assert speaker.outcomes["spoken"] == 1


def test_the_text_goes_to_standard_input_only(speaker: Speaker, machine: Machine) -> None:
    text = "--help; $(reboot) `x` ä"
    speaker.speak("bass", text)
    encoder, program = machine.processes
    assert program.text == text.encode()
    assert not any("reboot" in word for word in program.arguments + encoder.arguments)
    speaker.speak("../../etc/passwd", text)
    assert VOICES["default"].variant in machine.processes[3].arguments  # an unknown voice
    voice = VOICES["bass"]
    assert [voice.variant, "-p", str(voice.pitch), "-s", str(voice.speed)] == program.arguments[-5:]


@pytest.mark.skipif(not shutil.which("espeak-ng"), reason="espeak-ng is not installed here")
def test_espeak_has_every_voice() -> None:
    sounds = set()
    for voice in VOICES.values():
        options = ["-b", "1", "-v", voice.variant, "-p", str(voice.pitch), "-s", str(voice.speed)]
        command = ["espeak-ng", "--stdin", "--stdout", *options]
        sounds.add(subprocess.run(command, input=b"Good evening", stdout=subprocess.PIPE, check=True).stdout)
    assert len(sounds) == len(VOICES)
    assert min(map(len, sounds)) > 10_000


def test_one_recording_per_core_and_a_bounded_queue(speaker: Speaker, machine: Machine) -> None:
    urls = [speaker.speak("default", f"line {n}") for n in range(2 + speech.MAX_WAITING + 3)]
    assert len(machine.processes) == 2 * 2
    assert speaker.queued == speech.MAX_WAITING
    assert urls[-3:] == [None] * 3
    assert len(set(urls[:-3])) == 2 + speech.MAX_WAITING
    assert speaker.outcomes["rejected"] == 3
    for _ in range(2 + speech.MAX_WAITING):
        assert len(machine.running()) <= 2 * 2
        machine.finish()
    assert (speaker.queued, speaker.recording) == (0, 0)
    assert speaker.outcomes["spoken"] == 2 + speech.MAX_WAITING


def test_the_time_limit_frees_the_core_for_the_next_line(speaker: Speaker, machine: Machine) -> None:
    urls = [speaker.speak("default", f"line {n}") for n in range(3)]
    heard = heard_of(speaker, urls[0])
    machine.advance(speech.TIME_LIMIT - 0.1)
    assert len(machine.running()) == 4
    fresh = speaker.speak("default", "a fresh line")
    machine.advance(0.2)
    assert [path.exists() for path in heard] == [False]
    assert speaker.outcomes["late"] == 3  # two killed, one that was late before it began
    assert len(machine.running()) == 2
    machine.finish()
    assert heard_of(speaker, fresh)[0].exists()


@pytest.mark.parametrize("broken", [0, 1])
def test_an_incomplete_recording_is_not_published(speaker: Speaker, machine: Machine, broken: int) -> None:
    url = speaker.speak("default", "hello")
    encoder, program = machine.processes
    Path(encoder.arguments[-1]).write_bytes(b"half")
    for process in (encoder, program):
        bad = process is machine.processes[broken]
        process.end(ProcessTerminated(1) if bad else ProcessDone(0))
    heard = heard_of(speaker, url)
    assert not heard[0].exists()
    assert not list(heard[0].parent.glob("utter-*"))
    assert speaker.outcomes["failed"] == 1


def test_a_file_lives_90_seconds_from_its_line(speaker: Speaker, machine: Machine) -> None:
    url = speaker.speak("default", "hello")
    machine.advance(5)
    machine.finish()
    heard = heard_of(speaker, url)
    machine.advance(84.9)
    assert heard[0].exists()
    machine.advance(0.2)
    assert not heard[0].exists()
    assert machine.getDelayedCalls() == []


def test_the_number_of_files_is_bounded(speaker: Speaker, machine: Machine, tmp_path: Path) -> None:
    for _ in range(speech.MAX_KEPT + 10):
        assert speaker.speak("default", "hello")
        machine.finish()
    assert len(list((tmp_path / "speech").glob("*.mp3"))) == speech.MAX_KEPT


def test_a_stop_leaves_no_process_and_no_file(speaker: Speaker, machine: Machine, tmp_path: Path) -> None:
    urls = [speaker.speak("default", f"line {n}") for n in range(5)]
    heard = heard_of(speaker, *urls)
    machine.finish()
    stopped: list[None] = []
    speaker.stopService().addCallback(stopped.append)
    assert stopped == [None]
    assert len(heard) == 5
    assert machine.running() == []
    assert machine.getDelayedCalls() == []
    assert not list((tmp_path / "speech").glob("utter-*"))
    assert speaker.speak("default", "too late") is None


def test_a_disconnected_client_does_not_wait(speaker: Speaker, machine: Machine) -> None:
    url = speaker.speak("default", "hello")
    waiting = speaker.file(number(url))
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    assert speaker.waiting == 0
    machine.finish()


def test_without_text_or_programs_it_is_silent(speaker: Speaker, tmp_path: Path, machine: Machine) -> None:
    assert speaker.speak("default", " \n") is None
    silent = Speaker(tmp_path / "speech", machine, path=str(tmp_path))
    with capturedLogs() as logged:
        silent.startService()
    assert [event["log_format"] for event in logged] == ["speech is off: a program is missing"]
    assert silent.speak("default", "hello") is None
    assert machine.processes == []


def test_a_full_disk_does_not_stop_the_chat(speaker: Speaker, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "speech")
    assert speaker.speak("default", "hello") is None
    assert speaker.outcomes["failed"] == 1


def test_files_of_an_earlier_run_are_removed(tmp_path: Path, machine: Machine) -> None:
    for name in ("utter-7.mp3", "utter-8.part"):
        (tmp_path / name).touch()
    Speaker(tmp_path, machine).startService()
    assert not list(tmp_path.glob("utter-*"))


def test_a_number_is_never_used_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    counter = tmp_path / "next-number"
    taken = [Numbers(counter).take() for _ in range(3)]  # three starts within a second
    one_start = Numbers(counter)
    taken += [one_start.take() for _ in range(2500)]
    now -= 86400  # the clock is set back
    taken.append(Numbers(counter).take())
    counter.write_text("")  # a power failure
    now += 2 * 86400
    taken.append(Numbers(counter).take())
    assert sorted(set(taken)) == taken

// Sounds and music that a player starts for all. While the sound switch is off, a clip plays muted, so that it is
// at the same place on all clients when the switch is turned on.

import { between } from "./geometry.js";

const SLOTS = 3; // UpStage's number

// notice: the element that names the playing clip; onEnded(url) is called at a clip's end.
export function makeClips({ loudspeaker, notice, onEnded }) {
  const names = new Map(); // the names, by URL
  const clips = new Map(); // the audio elements, by URL, the oldest first

  const on = {
    // This frame contains a bare file name, as in UpStage; all others contain a path.
    LOAD_AUDIO: ({ name = "", url = "" }) => names.set(soundUrl(url), name),
    MUSIC: ({ url }) => slot(url),
    EFFECT: ({ url }) => slot(url),
    PLAY_CLIP: ({ url }) => play(url, false),
    LOOP_CLIP: ({ url }) => play(url, true),
    PAUSE_CLIP: ({ url }) => clips.get(url)?.pause(),
    STOPAUDIO: ({ url }) => remove(url),
    CLEAR_AUDIOSLOT: ({ url }) => remove(url),
    VOLUME: ({ url, volume }) => {
      const audio = clips.get(url);
      if (audio) audio.volume = between(0, Number(volume) / 100 || 0, 1);
    },
  };

  function reset() {
    for (const url of [...clips.keys()]) remove(url);
    names.clear();
  }

  // The audio element of a clip. One without a slot gets one, also for a late joiner, and the oldest of three makes room.
  function slot(url) {
    if (!names.has(url)) return null; // not of this stage
    if (clips.has(url)) return clips.get(url);
    if (clips.size === SLOTS) remove(clips.keys().next().value);
    const audio = new Audio();
    audio.preload = "none"; // fetched when it is played
    audio.src = url;
    audio.muted = !loudspeaker.isOn;
    for (const change of ["playing", "pause", "ended"]) audio.addEventListener(change, tell);
    audio.addEventListener("ended", () => onEnded(url));
    clips.set(url, audio);
    return audio;
  }

  async function play(url, loop) {
    const audio = slot(url);
    if (!audio) return;
    audio.loop = loop;
    const sounds = await loudspeaker.play(audio);
    if (!sounds && audio.muted) await loudspeaker.play(audio); // the browser has just forbidden sound
  }

  function remove(url) {
    clips.get(url)?.pause();
    clips.delete(url);
    tell();
  }

  function tell() {
    const playing = [...clips].filter(([, audio]) => !audio.paused).map(([url]) => names.get(url));
    notice.hidden = playing.length === 0;
    notice.textContent = `♪ ${playing.join(", ")}`;
  }

  loudspeaker.subscribe(() => {
    for (const audio of clips.values()) audio.muted = !loudspeaker.isOn;
  });

  return { on, reset };
}

export function soundUrl(file) {
  return `/media/audio/${file}`;
}

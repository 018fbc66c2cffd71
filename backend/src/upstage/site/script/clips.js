// Sounds and music that a player starts for all. While the sound switch is off, a clip plays muted, so that it is
// at the same place on all clients when the switch is turned on.

import { between } from "./geometry.js";

const SLOTS = 3; // UpStage's number

export class Clips {
  #loudspeaker;
  #notice;
  #onEnded;
  #names = new Map(); // url -> name
  #clips = new Map(); // url -> audio, the oldest first

  // notice: the element that names the playing clip; onEnded(url) is called at a clip's end.
  constructor({ loudspeaker, notice, onEnded }) {
    this.#loudspeaker = loudspeaker;
    this.#notice = notice;
    this.#onEnded = onEnded;
    loudspeaker.subscribe(() => {
      for (const audio of this.#clips.values()) audio.muted = !loudspeaker.isOn;
    });
  }

  reset() {
    for (const url of [...this.#clips.keys()]) this.#remove(url);
    this.#names.clear();
  }

  on = {
    // This frame has a bare file name, as in UpStage; all others have a path.
    LOAD_AUDIO: ({ name = "", url = "" }) => this.#names.set(soundUrl(url), name),
    MUSIC: ({ url }) => this.#slot(url),
    EFFECT: ({ url }) => this.#slot(url),
    PLAY_CLIP: ({ url }) => this.#play(url, false),
    LOOP_CLIP: ({ url }) => this.#play(url, true),
    PAUSE_CLIP: ({ url }) => this.#clips.get(url)?.pause(),
    STOPAUDIO: ({ url }) => this.#remove(url),
    CLEAR_AUDIOSLOT: ({ url }) => this.#remove(url),
    VOLUME: ({ url, volume }) => {
      const audio = this.#clips.get(url);
      if (audio) audio.volume = between(0, Number(volume) / 100 || 0, 1);
    },
  };

  // A late joiner has no slot for a playing clip yet, and gets one.
  #slot(url) {
    if (!this.#names.has(url)) return null; // not of this stage
    if (this.#clips.has(url)) return this.#clips.get(url);
    if (this.#clips.size === SLOTS) this.#remove(this.#clips.keys().next().value);
    const audio = new Audio();
    audio.preload = "none"; // fetched when it is played
    audio.src = url;
    audio.muted = !this.#loudspeaker.isOn;
    for (const change of ["playing", "pause", "ended"]) audio.addEventListener(change, () => this.#tell());
    audio.addEventListener("ended", () => this.#onEnded(url));
    this.#clips.set(url, audio);
    return audio;
  }

  async #play(url, loop) {
    const audio = this.#slot(url);
    if (!audio) return;
    audio.loop = loop;
    const sounds = await this.#loudspeaker.play(audio);
    if (!sounds && audio.muted) await this.#loudspeaker.play(audio); // the browser has just forbidden sound
  }

  #remove(url) {
    this.#clips.get(url)?.pause();
    this.#clips.delete(url);
    this.#tell();
  }

  #tell() {
    const playing = [...this.#clips].filter(([, audio]) => !audio.paused).map(([url]) => this.#names.get(url));
    this.#notice.hidden = playing.length === 0;
    this.#notice.textContent = `♪ ${playing.join(", ")}`;
  }
}

export function soundUrl(file) {
  return `/media/audio/${file}`;
}

// The players' panel for sounds. A click goes to the server; the sound starts when the frame comes back, on all clients.

import { soundUrl } from "./clips.js";

export class Soundboard {
  #root;
  #send;
  #rows = new Map(); // url -> {play, loop}

  constructor({ root, send }) {
    this.#root = root;
    this.#send = send;
  }

  reset() {
    this.#root.replaceChildren();
    this.#rows.clear();
  }

  on = {
    LOAD_AUDIO: ({ name = "", type, url: file = "" }) => {
      const url = soundUrl(file);
      const control = { array: "sounds", url };
      const start = (mode) => {
        this.#send(type === "music" ? "LOAD_MUSIC" : "LOAD_EFFECT", { file });
        this.#send(mode, control);
      };
      const play = button("play", name, () => {
        if (play.ariaPressed === "true") this.#send("PAUSE_CLIP", control);
        else start("PLAY_CLIP");
      });
      const loop = button("loop", "Loop", () => start("LOOP_CLIP"), `Loop ${name}`);
      const stop = button("stop", "Stop", () => this.#send("STOP_AUDIO", { url, type }), `Stop ${name}`);
      const volume = slider(`Volume of ${name}`, (value) => this.#send("ADJUST_VOLUME", { url, type, volume: value }));
      const row = document.createElement("div");
      row.className = "sound";
      row.role = "group";
      row.ariaLabel = name;
      row.append(play, loop, stop, volume);
      this.#rows.set(url, { play, loop });
      this.#root.append(row);
    },

    PLAY_CLIP: ({ url }) => this.#mark(url, true, false),
    LOOP_CLIP: ({ url }) => this.#mark(url, true, true),
    PAUSE_CLIP: ({ url }) => this.#mark(url, false, false),
    STOPAUDIO: ({ url }) => this.#mark(url, false, false),
    CLEAR_AUDIOSLOT: ({ url }) => this.#mark(url, false, false),
  };

  ended(url) {
    this.#mark(url, false, false);
  }

  #mark(url, playing, looping) {
    const row = this.#rows.get(url);
    if (!row) return;
    row.play.ariaPressed = `${playing}`;
    row.loop.ariaPressed = `${looping}`;
  }
}

function button(kind, text, onPress, label = text) {
  const element = document.createElement("button");
  element.type = "button";
  element.className = `small ${kind}`;
  element.textContent = text;
  element.ariaLabel = label;
  if (kind !== "stop") element.ariaPressed = "false";
  element.addEventListener("click", onPress);
  return element;
}

function slider(label, onChange) {
  const element = document.createElement("input");
  element.type = "range";
  element.max = 100;
  element.value = 100;
  element.ariaLabel = label;
  element.addEventListener("change", () => onChange(element.value));
  return element;
}

// The players' panel for sounds. A click goes to the server; the sound starts when the frame comes back, on all clients.

import { soundUrl } from "./clips.js";

export function makeSoundboard({ root, send }) {
  const rows = new Map(); // {play, loop}, by URL

  const on = {
    LOAD_AUDIO: ({ name = "", type, url: file = "" }) => {
      const url = soundUrl(file);
      const control = { array: "sounds", url };
      const start = (mode) => {
        send(type === "music" ? "LOAD_MUSIC" : "LOAD_EFFECT", { file });
        send(mode, control);
      };
      const play = button("play", name, () => {
        if (play.ariaPressed === "true") send("PAUSE_CLIP", control);
        else start("PLAY_CLIP");
      });
      const loop = button("loop", "Loop", () => start("LOOP_CLIP"), `Loop ${name}`);
      const stop = button("stop", "Stop", () => send("STOP_AUDIO", { url, type }), `Stop ${name}`);
      const volume = slider(`Volume of ${name}`, (value) => send("ADJUST_VOLUME", { url, type, volume: value }));
      const row = document.createElement("div");
      row.className = "sound";
      row.role = "group";
      row.ariaLabel = name;
      row.append(play, loop, stop, volume);
      rows.set(url, { play, loop });
      root.append(row);
    },

    PLAY_CLIP: ({ url }) => mark(url, true, false),
    LOOP_CLIP: ({ url }) => mark(url, true, true),
    PAUSE_CLIP: ({ url }) => mark(url, false, false),
    STOPAUDIO: ({ url }) => mark(url, false, false),
    CLEAR_AUDIOSLOT: ({ url }) => mark(url, false, false),
  };

  function reset() {
    root.replaceChildren();
    rows.clear();
  }

  function ended(url) {
    mark(url, false, false);
  }

  function mark(url, playing, looping) {
    const row = rows.get(url);
    if (!row) return;
    row.play.ariaPressed = `${playing}`;
    row.loop.ariaPressed = `${looping}`;
  }

  return { on, reset, ended };
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

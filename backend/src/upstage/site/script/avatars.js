// The avatars: they enter, walk, speak, think, shout, change their names and leave.

import { say } from "./bubble.js";
import { Figure } from "./figure.js";
import { LARGEST, picture } from "./picture.js";
import { watch } from "./webcam.js";
import { spokenText } from "./wire.js";

// onImage(img) is called for every picture that the stage waits for.
export function makeAvatars(root, { onImage }) {
  const figures = new Map();
  const cameras = []; // for each camera, a function that stops it

  const on = {
    LOAD_AV: ({ ID, name = "", url, medium }) => {
      const image = picture(url);
      const isCamera = medium === "video";
      if (isCamera) cameras.push(watch(image, url));
      onImage(image);
      const figure = new Figure(ID, name, image, isCamera ? LARGEST.camera : LARGEST.avatar);
      figures.set(ID, figure);
      root.append(figure.element);
    },

    AV_POS: ({ ID, X, Y }) => at(X, Y, (x, y) => get(ID)?.place(x, y)),
    AV_MOVETOWARD: ({ ID, X, Y }) => at(X, Y, (x, y) => get(ID)?.walk(x, y)),
    PUT_AWAY: ({ ID }) => get(ID)?.putAway(),
    RENAME: ({ ID, name = "" }) => get(ID)?.rename(name),
    AVPROPERTIES: ({ ID, showName }) => get(ID)?.showName(showName === "show"),

    // The figure that had this depth gets the other figure's depth.
    AVLAYER: ({ ID, newLayer }) => {
      const figure = get(ID);
      const layer = Number.parseInt(newLayer, 10);
      if (!figure || !Number.isFinite(layer)) return;
      for (const other of figures.values()) if (other.layer === layer) other.lift(figure.layer);
      figure.lift(layer);
    },

    TEXT: ({ ID, text }) => bubble(ID, text, "speech"),
    THINK: ({ ID, thought }) => bubble(ID, thought, "thought"),
    SHOUT: ({ ID, shout }) => bubble(ID, shout, "shout"),
    PMESSAGE: ({ ID, pmessage }) => bubble(ID, pmessage, "speech"),
  };

  function reset() {
    for (const figure of figures.values()) figure.stop();
    figures.clear();
    for (const stop of cameras.splice(0)) stop();
    root.replaceChildren();
  }

  function get(id) {
    return figures.get(id);
  }

  // All figures, from back to front.
  function inDepth() {
    return [...figures.values()].sort((one, other) => one.layer - other.layer);
  }

  function at(X, Y, then) {
    const [x, y] = [Number.parseFloat(X), Number.parseFloat(Y)];
    if (Number.isFinite(x) && Number.isFinite(y)) then(x, y);
  }

  function bubble(id, text, manner) {
    const figure = get(id);
    if (figure?.onStage) say(figure.element, spokenText(text), manner);
  }

  return { on, reset, get, inDepth };
}

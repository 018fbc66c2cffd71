// The avatars: they enter, walk, speak, think, shout, change their names and leave.

import { say } from "./bubble.js";
import { Figure } from "./figure.js";
import { LARGEST, picture } from "./picture.js";
import { watch } from "./webcam.js";
import { spokenText } from "./wire.js";

export class Avatars {
  #root;
  #onImage;
  #figures = new Map();
  #cameras = []; // a function that stops each

  // onImage(img) is called for every picture that the stage waits for.
  constructor(root, { onImage }) {
    this.#root = root;
    this.#onImage = onImage;
  }

  reset() {
    for (const figure of this.#figures.values()) figure.stop();
    this.#figures.clear();
    for (const stop of this.#cameras.splice(0)) stop();
    this.#root.replaceChildren();
  }

  get(id) {
    return this.#figures.get(id);
  }

  // All figures, from back to front.
  inDepth() {
    return [...this.#figures.values()].sort((one, other) => one.layer - other.layer);
  }

  on = {
    LOAD_AV: ({ ID, name = "", url, medium }) => {
      const image = picture(url);
      const isCamera = medium === "video";
      if (isCamera) this.#cameras.push(watch(image, url));
      this.#onImage(image);
      const figure = new Figure(ID, name, image, isCamera ? LARGEST.camera : LARGEST.avatar);
      this.#figures.set(ID, figure);
      this.#root.append(figure.element);
    },

    AV_POS: ({ ID, X, Y }) => this.#at(X, Y, (x, y) => this.get(ID)?.place(x, y)),
    AV_MOVETOWARD: ({ ID, X, Y }) => this.#at(X, Y, (x, y) => this.get(ID)?.walk(x, y)),
    PUT_AWAY: ({ ID }) => this.get(ID)?.putAway(),
    RENAME: ({ ID, name = "" }) => this.get(ID)?.rename(name),
    AVPROPERTIES: ({ ID, showName }) => this.get(ID)?.showName(showName === "show"),

    // The figure that had this depth gets the other's.
    AVLAYER: ({ ID, newLayer }) => {
      const figure = this.get(ID);
      const layer = Number.parseInt(newLayer, 10);
      if (!figure || !Number.isFinite(layer)) return;
      for (const other of this.#figures.values()) if (other.layer === layer) other.lift(figure.layer);
      figure.lift(layer);
    },

    TEXT: ({ ID, text }) => this.#bubble(ID, text, "speech"),
    THINK: ({ ID, thought }) => this.#bubble(ID, thought, "thought"),
    SHOUT: ({ ID, shout }) => this.#bubble(ID, shout, "shout"),
    PMESSAGE: ({ ID, pmessage }) => this.#bubble(ID, pmessage, "speech"),
  };

  #at(X, Y, then) {
    const [x, y] = [Number.parseFloat(X), Number.parseFloat(Y)];
    if (Number.isFinite(x) && Number.isFinite(y)) then(x, y);
  }

  #bubble(id, text, manner) {
    const figure = this.get(id);
    if (figure?.onStage) say(figure.element, spokenText(text), manner);
  }
}

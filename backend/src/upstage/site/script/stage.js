// The scene: turns frames into elements inside #stage.
//
// A stage is 320 wide and 200 high, whatever the screen. The script only writes numbers in these units into
// custom properties (--x --y --width --layer); stage.css turns them into percentages.
// An avatar's position is where its feet are.

import { say } from "./bubble.js";
import { spokenText } from "./wire.js";

const WIDTH = 320;
// A picture is shown at its own size, but nobody hides the whole stage behind one photograph.
const LARGEST = 120;

export class Stage {
  #root;
  #onImage;
  #avatars = new Map();
  #props = new Map();

  // onImage(img) is told of every picture the scene waits for.
  constructor(root, { onImage }) {
    this.#root = root;
    this.#onImage = onImage;
  }

  reset() {
    this.#root.replaceChildren();
    this.#avatars.clear();
    this.#props.clear();
  }

  on = {
    LOAD_BACKDROP: ({ ID, name, url, show }) => {
      const image = this.#picture(url, name);
      image.className = "backdrop";
      image.dataset.id = ID;
      image.hidden = show !== "True";
      this.#root.append(image);
    },

    LOAD_AV: ({ ID, name = "", url }) => {
      const avatar = document.createElement("div");
      avatar.className = "avatar";
      avatar.dataset.id = ID;
      avatar.hidden = true; // until it has a place
      const image = this.#picture(url, name);
      image.addEventListener("load", () => fit(avatar, image));
      const label = document.createElement("span");
      label.className = "name";
      label.ariaHidden = "true"; // the picture says it already
      label.textContent = name;
      avatar.append(image, label);
      this.#avatars.set(ID, avatar);
      this.#root.append(avatar);
    },

    LOAD_PROP: ({ ID, name, url }) => {
      const prop = this.#picture(url, name);
      prop.className = "prop";
      prop.dataset.id = ID;
      prop.hidden = true; // until somebody holds it
      prop.addEventListener("load", () => fit(prop, prop));
      this.#props.set(ID, prop);
      this.#root.append(prop);
    },

    AV_POS: ({ ID, X, Y }) => {
      const avatar = this.#avatars.get(ID);
      const [x, y] = [Number.parseFloat(X), Number.parseFloat(Y)];
      if (!avatar || !Number.isFinite(x) || !Number.isFinite(y)) return;
      avatar.style.setProperty("--x", x);
      avatar.style.setProperty("--y", y);
      // A bubble near an edge grows towards the middle.
      avatar.dataset.side = x < WIDTH / 4 ? "left" : x > (WIDTH * 3) / 4 ? "right" : "middle";
      avatar.hidden = false;
    },

    AVPROPERTIES: ({ ID, showName }) => {
      const label = this.#avatars.get(ID)?.querySelector(".name");
      if (label) label.hidden = showName !== "show";
    },

    AVLAYER: ({ ID, newLayer }) => {
      const layer = Number.parseInt(newLayer, 10);
      if (Number.isFinite(layer)) this.#avatars.get(ID)?.style.setProperty("--layer", layer);
    },

    // The avatar puts down what it held; prop 0 means that its hands stay empty.
    BINDPROP: ({ ID, prop: propId }) => {
      const avatar = this.#avatars.get(ID);
      if (!avatar) return;
      for (const held of avatar.querySelectorAll(".prop")) {
        held.hidden = true;
        this.#root.append(held);
      }
      const prop = this.#props.get(propId);
      if (!prop) return;
      prop.hidden = false;
      avatar.append(prop);
    },

    TEXT: ({ ID, text }) => {
      const avatar = this.#avatars.get(ID);
      if (avatar && !avatar.hidden) say(avatar, spokenText(text));
    },
  };

  #picture(url = "", name = "") {
    const image = new Image();
    image.alt = name;
    image.draggable = false;
    image.src = url;
    this.#onImage(image);
    return image;
  }
}

// Gives the element the picture's own size, in stage units.
function fit(element, image) {
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(1, LARGEST / Math.max(width, height));
  element.style.setProperty("--width", width * scale);
}

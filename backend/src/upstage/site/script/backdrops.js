// The backdrops: all are loaded, at most one is shown.

import { picture } from "./picture.js";

export class Backdrops {
  #root;
  #onImage;

  constructor(root, { onImage }) {
    this.#root = root;
    this.#onImage = onImage;
  }

  reset() {
    this.#root.replaceChildren();
  }

  on = {
    LOAD_BACKDROP: ({ ID, name, url, show }) => {
      const image = picture(url, name);
      this.#onImage(image);
      image.className = "backdrop";
      image.dataset.id = ID;
      image.hidden = show !== "True";
      this.#root.append(image);
    },

    SHOW_BACKDROP: ({ ID }) => {
      for (const image of this.#root.children) image.hidden = image.dataset.id !== ID;
    },
  };
}

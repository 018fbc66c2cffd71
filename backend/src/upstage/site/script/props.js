// The props: each is held by an avatar, or hidden.

import { fit, LARGEST, picture } from "./picture.js";

export class Props {
  #root;
  #avatars;
  #onImage;
  #props = new Map();

  constructor(root, { avatars, onImage }) {
    this.#root = root;
    this.#avatars = avatars;
    this.#onImage = onImage;
  }

  reset() {
    for (const prop of this.#props.values()) prop.remove();
    this.#props.clear();
  }

  on = {
    LOAD_PROP: ({ ID, name, url }) => {
      const prop = picture(url, name);
      this.#onImage(prop);
      prop.className = "prop";
      prop.dataset.id = ID;
      fit(prop, prop, LARGEST.prop);
      this.#props.set(ID, prop);
      this.#layDown(prop);
    },

    // The avatar releases its prop; prop 0 means that it takes no other.
    BINDPROP: ({ ID, prop: propId }) => {
      this.#empty(ID);
      const prop = this.#props.get(propId);
      const avatar = this.#avatars.get(ID)?.element;
      if (!prop || !avatar) return;
      prop.hidden = false;
      avatar.append(prop);
    },

    PUT_AWAY: ({ ID }) => this.#empty(ID),
  };

  #empty(avatarId) {
    const avatar = this.#avatars.get(avatarId)?.element;
    for (const held of avatar?.querySelectorAll(".prop") ?? []) this.#layDown(held);
  }

  #layDown(prop) {
    prop.hidden = true;
    this.#root.append(prop);
  }
}

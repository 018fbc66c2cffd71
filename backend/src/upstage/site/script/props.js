// The props: each is held by an avatar, or hidden.

import { fit, LARGEST, picture } from "./picture.js";

export function makeProps(root, { avatars, onImage }) {
  const props = new Map();

  const on = {
    LOAD_PROP: ({ ID, name, url }) => {
      const prop = picture(url, name);
      onImage(prop);
      prop.className = "prop";
      prop.dataset.id = ID;
      fit(prop, prop, LARGEST.prop);
      props.set(ID, prop);
      layDown(prop);
    },

    // The avatar releases its prop; prop 0 means that it takes no other.
    BINDPROP: ({ ID, prop: propId }) => {
      empty(ID);
      const prop = props.get(propId);
      const avatar = avatars.get(ID)?.element;
      if (!prop || !avatar) return;
      prop.hidden = false;
      avatar.append(prop);
    },

    PUT_AWAY: ({ ID }) => empty(ID),
  };

  function reset() {
    for (const prop of props.values()) prop.remove();
    props.clear();
  }

  function empty(avatarId) {
    const avatar = avatars.get(avatarId)?.element;
    for (const held of avatar?.querySelectorAll(".prop") ?? []) layDown(held);
  }

  function layDown(prop) {
    prop.hidden = true;
    root.append(prop);
  }

  return { on, reset };
}

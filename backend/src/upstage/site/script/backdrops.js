// The backdrops: all are loaded, at most one is shown.

import { picture } from "./picture.js";

export function makeBackdrops(root, { onImage }) {
  const on = {
    LOAD_BACKDROP: ({ ID, name, url, show }) => {
      const image = picture(url, name);
      onImage(image);
      image.className = "backdrop";
      image.dataset.id = ID;
      image.hidden = show !== "True";
      root.append(image);
    },

    SHOW_BACKDROP: ({ ID }) => {
      for (const image of root.children) image.hidden = image.dataset.id !== ID;
    },
  };

  return { on, reset: () => root.replaceChildren() };
}

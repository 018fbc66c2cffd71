// Pictures of things, in the stage's own units.

// A picture is shown at its own size, up to a limit: a photograph must not cover the whole stage.
export const LARGEST = { avatar: 120, camera: 80, prop: 48 };

export function picture(url = "", name = "") {
  const image = new Image();
  image.alt = name;
  image.draggable = false;
  image.src = url;
  return image;
}

// Gives an element the width of its picture as soon as that is known. stage.css turns it into a percentage.
export function fit(element, image, largest) {
  image.addEventListener("load", () => {
    const { naturalWidth: width, naturalHeight: height } = image;
    element.style.setProperty("--width", width * Math.min(1, largest / Math.max(width, height)));
  });
}

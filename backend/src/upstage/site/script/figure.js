// One avatar on the stage: its place and its walk. The script only sets custom properties (--x --y --layer);
// stage.css turns them into percentages.

import { WIDTH } from "./geometry.js";
import { fit } from "./picture.js";

const STEP = 150; // milliseconds

// UpStage's rule: avatars walk short distances slowly, long ones faster.
const walkingTime = (distance) => STEP * (0.2 * distance + 2 * Math.sqrt(distance));

export class Figure {
  element = document.createElement("div");
  goal = { x: 0, y: 0 }; // its place, or the end of its walk
  layer = 0;
  #image;
  #label = document.createElement("span");
  #at = { x: 0, y: 0 };
  #timer = 0;

  constructor(id, name, image, largest) {
    this.#image = image;
    this.element.className = "avatar";
    this.element.dataset.id = id;
    this.element.hidden = true; // until it has a place
    this.#label.className = "name";
    this.#label.ariaHidden = "true"; // the picture's text contains the name already
    this.element.append(image, this.#label);
    fit(this.element, image, largest);
    this.rename(name);
  }

  get onStage() {
    return !this.element.hidden;
  }

  get name() {
    return this.#label.textContent;
  }

  get picture() {
    return this.#image;
  }

  rename(name) {
    this.#label.textContent = name;
    this.#image.alt = name;
  }

  showName(shown) {
    this.#label.hidden = !shown;
  }

  get namesItself() {
    return !this.#label.hidden;
  }

  lift(layer) {
    this.layer = layer;
    this.element.style.setProperty("--layer", layer);
  }

  place(x, y) {
    this.stop();
    this.goal = { x, y };
    this.#stand(x, y);
    this.element.hidden = false;
  }

  walk(x, y) {
    if (!this.onStage) return this.place(x, y);
    this.stop();
    const from = this.#at;
    this.goal = { x, y };
    const whole = walkingTime(Math.hypot(x - from.x, y - from.y));
    const started = performance.now();
    this.element.classList.add("walking");
    // The clock decides, not a count of steps: a background tab's timers fire late.
    const step = () => {
      const part = Math.min(1, (performance.now() - started + STEP) / (whole || 1));
      this.#stand(from.x + (x - from.x) * part, from.y + (y - from.y) * part);
      if (part === 1) this.stop();
    };
    this.#timer = setInterval(step, STEP);
    step();
  }

  putAway() {
    this.stop();
    this.element.hidden = true;
  }

  stop() {
    clearInterval(this.#timer);
    this.element.classList.remove("walking");
  }

  #stand(x, y) {
    this.#at = { x, y };
    this.element.style.setProperty("--x", x);
    this.element.style.setProperty("--y", y);
    // A bubble near an edge grows towards the middle.
    this.element.dataset.side = x < WIDTH / 4 ? "left" : x > (WIDTH * 3) / 4 ? "right" : "middle";
  }
}

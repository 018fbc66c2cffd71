// Waits for the stage's pictures and shows the progress. A failed picture counts too: one lost file must not
// keep the curtain down.

const MAX_WAIT = 15_000;

export class Preload {
  #bar;
  #message;
  #onDone;
  #expected = null; // known from SPLASH_DETAILS on
  #settled = 0;
  #done = false;

  constructor({ bar, message, onDone }) {
    this.#bar = bar;
    this.#message = message;
    this.#onDone = onDone;
  }

  reset() {
    this.#expected = null;
    this.#settled = 0;
    this.#done = false;
    this.#update();
  }

  on = {
    SPLASH_DETAILS: ({ avatars, props, backdrops, msg = "" }) => {
      this.#expected = count(avatars) + count(props) + count(backdrops);
      this.#message.textContent = msg;
      this.#update();
    },
  };

  async watch(image) {
    await settled(image);
    // The stage was cleared meanwhile: this picture belongs to the previous connection.
    if (!image.isConnected) return;
    this.#settled += 1;
    this.#update();
  }

  #update() {
    this.#bar.max = this.#expected || 1;
    this.#bar.value = this.#settled;
    if (this.#done || this.#expected === null || this.#settled < this.#expected) return;
    this.#done = true;
    this.#onDone();
  }
}

function settled(image) {
  return new Promise((resolve) => {
    image.addEventListener("load", resolve);
    image.addEventListener("error", resolve);
    setTimeout(resolve, MAX_WAIT);
  });
}

function count(text) {
  return Math.max(0, Number.parseInt(text, 10) || 0);
}

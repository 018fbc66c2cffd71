// Spoken lines. Each is fetched the moment it is announced (the server may still be synthesising it) and is played when
// the lines before it have ended: two voices at once could not be understood.

const LONGEST_QUEUE = 5;
const MAX_WAIT = 20_000; // the server gives up on a line after 15 s

export class Speech {
  #loudspeaker;
  #queue = []; // the first one is playing

  constructor(loudspeaker) {
    this.#loudspeaker = loudspeaker;
    loudspeaker.subscribe(() => loudspeaker.isOn || this.reset());
  }

  reset() {
    for (const audio of this.#queue) audio.pause();
    this.#queue = [];
  }

  on = {
    WAVE: ({ url = "" }) => {
      if (!this.#loudspeaker.isOn || !url.startsWith("/speech/")) return;
      // A client that has fallen behind drops the oldest line that has not begun.
      if (this.#queue.length === LONGEST_QUEUE) this.#queue.splice(1, 1);
      this.#queue.push(new Audio(url));
      if (this.#queue.length === 1) this.#next();
    },
  };

  async #next() {
    const [audio] = this.#queue;
    if (!audio) return;
    await heard(audio, this.#loudspeaker);
    if (this.#queue[0] !== audio) return; // the queue was emptied meanwhile
    this.#queue.shift();
    this.#next();
  }
}

function heard(audio, loudspeaker) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, MAX_WAIT);
    audio.addEventListener("playing", () => clearTimeout(timer));
    for (const end of ["ended", "error", "pause"]) audio.addEventListener(end, resolve);
    loudspeaker.play(audio).then((sounds) => sounds || resolve());
  });
}

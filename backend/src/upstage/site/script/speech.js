// Spoken lines. Each is fetched the moment it is announced (the server may still be synthesising it) and is heard when
// the lines before it have ended: two voices at once would be understood by nobody.

const LONGEST_QUEUE = 5;
const PATIENCE = 20_000; // the server gives up on a line after 15 s

export class Speech {
  #loudspeaker;
  #queue = []; // the first one is being heard

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
      // Whoever has fallen behind loses the oldest line that has not begun.
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
    const timer = setTimeout(resolve, PATIENCE);
    audio.addEventListener("playing", () => clearTimeout(timer));
    for (const end of ["ended", "error", "pause"]) audio.addEventListener(end, resolve);
    loudspeaker.play(audio).then((sounds) => sounds || resolve());
  });
}

// Spoken lines. Each is fetched the moment it is announced (the server may still be synthesising it) and is played when
// the lines before it have ended: two voices at once could not be understood.

const LONGEST_QUEUE = 5;
const MAX_WAIT = 20_000; // the server gives up on a line after 15 s

export function makeSpeech(loudspeaker) {
  let queue = []; // the first one is playing

  const on = {
    WAVE: ({ url = "" }) => {
      if (!loudspeaker.isOn || !url.startsWith("/speech/")) return;
      // A client that has fallen behind drops the oldest line that has not begun.
      if (queue.length === LONGEST_QUEUE) queue.splice(1, 1);
      queue.push(new Audio(url));
      if (queue.length === 1) next();
    },
  };

  function reset() {
    for (const audio of queue) audio.pause();
    queue = [];
  }

  async function next() {
    const [audio] = queue;
    if (!audio) return;
    await heard(audio, loudspeaker);
    if (queue[0] !== audio) return; // the queue was emptied meanwhile
    queue.shift();
    next();
  }

  loudspeaker.subscribe(() => loudspeaker.isOn || reset());

  return { on, reset };
}

function heard(audio, loudspeaker) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, MAX_WAIT);
    audio.addEventListener("playing", () => clearTimeout(timer));
    for (const end of ["ended", "error", "pause"]) audio.addEventListener(end, resolve);
    loudspeaker.play(audio).then((sounds) => sounds || resolve());
  });
}

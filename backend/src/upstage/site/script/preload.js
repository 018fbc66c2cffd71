// Waits for the stage's pictures and shows the progress. A picture that failed, or is late by MAX_WAIT ms, counts
// too: one lost file must not keep the curtain down.

const MAX_WAIT = 15_000;

export function makePreload({ bar, message, onDone }) {
  let expected = null; // known from SPLASH_DETAILS on
  let arrived = 0;
  let done = false;

  const on = {
    SPLASH_DETAILS: ({ avatars, props, backdrops, msg = "" }) => {
      expected = count(avatars) + count(props) + count(backdrops);
      message.textContent = msg;
      update();
    },
  };

  function reset() {
    expected = null;
    arrived = 0;
    done = false;
    update();
  }

  async function watch(image) {
    await settled(image);
    // The stage was cleared meanwhile: this picture belongs to the previous connection.
    if (!image.isConnected) return;
    arrived += 1;
    update();
  }

  function update() {
    bar.max = expected || 1;
    bar.value = arrived;
    if (done || expected === null || arrived < expected) return;
    done = true;
    onDone();
  }

  return { on, reset, watch };
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

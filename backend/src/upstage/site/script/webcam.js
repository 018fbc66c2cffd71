// A webcam avatar: its picture is asked for again and again, and the server holds each question until there is a
// newer one. The rhythm is UpStage's.

const EVERY = 1500; // milliseconds from one picture to the next
const PAUSE = 500; // but at least this long between an answer and the next question
const MOST_FAILURES = 10; // in a row; the camera has gone home

const anything = () => Math.random().toString(36).slice(2);

// Keeps `image` up to date; returns what ends it.
export function watch(image, url) {
  const seat = anything(); // by this the server knows which picture we have
  let timer;
  let failures = 0;

  function ask() {
    const asked = performance.now();
    const next = new Image();
    next.onload = () => {
      failures = 0;
      image.src = next.src;
      timer = setTimeout(ask, Math.max(PAUSE, EVERY - (performance.now() - asked)));
    };
    next.onerror = () => {
      failures += 1;
      if (failures < MOST_FAILURES) timer = setTimeout(ask, EVERY);
    };
    next.src = `${url}?s=${seat}&u=${anything()}`;
    stop.now = () => {
      next.onload = next.onerror = null;
      next.src = "";
    };
  }

  function stop() {
    clearTimeout(timer);
    stop.now?.();
  }

  ask();
  return stop;
}

// A webcam avatar: its picture is fetched by long polls, which the server answers when there is a newer one. The
// intervals are UpStage's.

const EVERY = 1500; // milliseconds from one picture to the next
const PAUSE = 500; // at least this long between a response and the next request
const MOST_FAILURES = 10; // failed requests in a row, after which the camera counts as stopped

const anything = () => Math.random().toString(36).slice(2);

// Keeps `image` up to date; returns a function that stops it.
export function watch(image, url) {
  const viewer = anything(); // tells the server which picture this client has
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
    next.src = `${url}?s=${viewer}&u=${anything()}`;
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

// Loads the page again if one of its scripts was lost on the way: a browser does not request a lost module a second time.
// Four times at most, after 1, 2, 4 and 8 seconds; then the page says what to do (#lost).

const LOST = "scripts lost";
const times = Number(sessionStorage.getItem(LOST));

addEventListener(
  "error",
  ({ target }) => {
    if (!(target instanceof HTMLScriptElement) || times >= 4) return;
    sessionStorage.setItem(LOST, times + 1);
    setTimeout(() => location.reload(), 1000 * 2 ** times);
  },
  true, // these events do not bubble
);
addEventListener("load", () => document.getElementById("lost") || sessionStorage.removeItem(LOST));

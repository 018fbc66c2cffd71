// Loads the page again if one of its scripts was lost on the way, once: a browser does not request a lost module a second
// time. If that does not help either, the page says what to do (#lost).

addEventListener(
  "error",
  ({ target }) => {
    const [{ type }] = performance.getEntriesByType("navigation");
    if (target instanceof HTMLScriptElement && type !== "reload") setTimeout(() => location.reload(), 1000);
  },
  true, // these events do not bubble
);

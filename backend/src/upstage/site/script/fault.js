// Says in the panel of responses what `make break` has broken in this stack; nginx serves the state (nginx/sites/fault.conf).

export const NOTE = "/.nginx/fault";
const PERIOD = 2000; // milliseconds between two looks, while the panel is open
const RECENT = 60; // seconds for which a repaired fault is still named

export function offerFault(dialog, line) {
  let next; // the timer of the next look

  async function look() {
    clearTimeout(next); // the panel may have been closed and opened meanwhile
    if (!dialog.open) return;
    try {
      const response = await fetch(NOTE, { cache: "no-store" });
      const note = response.status === 200 ? await response.json() : {};
      line.classList.toggle("mended", Boolean(note.mended));
      write(note.title ? words(note, Date.now() / 1000) : "");
    } catch {
      // nginx itself may be broken: its last message stays
    }
    next = setTimeout(look, PERIOD);
  }

  function write(text) {
    if (line.textContent !== text) line.textContent = text; // a screen reader would read it again
    line.hidden = !text;
  }

  return look;
}

// words(note, now) -> a sentence, "" if there is nothing to say; times in seconds since 1970.
function words({ title, users, broken, mended }, now) {
  if (mended && now - mended > RECENT) return "";
  const since = new Date(broken * 1000).toLocaleTimeString("en-GB");
  return mended
    ? `Broken on purpose at ${since}, and mended: ${title}.`
    : `Broken on purpose since ${since}: ${title}. ${users}`;
}

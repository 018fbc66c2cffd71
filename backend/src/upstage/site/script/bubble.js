// Speech bubbles. They are hidden from screen readers, which read the chat log, and never contain markup.

const SHORTEST = 3_000;
const LONGEST = 12_000;
const PER_CHARACTER = 60;
// A longer text would cover the stage; the chat shows all of it.
const MOST_CHARACTERS = 100;

const timers = new WeakMap();
let newest = 0;

// Puts a bubble over an element; a new line replaces the one before. The manner is "speech", "thought" or "shout".
export function say(element, text, manner = "speech") {
  let bubble = element.querySelector(":scope > .bubble");
  if (!bubble) {
    bubble = document.createElement("p");
    bubble.ariaHidden = "true";
    element.append(bubble);
  }
  bubble.className = `bubble ${manner}`;
  bubble.textContent = shorten(text);
  bubble.style.setProperty("--turn", (newest += 1)); // the newest bubble lies on top
  clearTimeout(timers.get(bubble));
  timers.set(
    bubble,
    setTimeout(() => bubble.remove(), readingTime(text)),
  );
}

function shorten(text) {
  const characters = [...text]; // code points, so that no emoji is cut in half
  return characters.length > MOST_CHARACTERS ? `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…` : text;
}

function readingTime(text) {
  return Math.min(LONGEST, SHORTEST + PER_CHARACTER * text.length);
}

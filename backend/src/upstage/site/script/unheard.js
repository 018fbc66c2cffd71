// The reader's own lines that have not come back from the stage: shown as waiting, below all others.

import { line } from "./lines.js";

const PATIENCE = 2_000;

// onWaiting(true) when a line has waited for PATIENCE milliseconds, onWaiting(false) when none waits any more.
export function makeUnheard({ log, onWaiting }) {
  const lines = []; // {text, element, timer}, the oldest first

  function add(text) {
    const element = line("waiting", text);
    element.ariaHidden = "true"; // a screen reader reads the line when it comes back
    log.append(element);
    lines.push({ text: spaced(text), element, timer: setTimeout(onWaiting, PATIENCE, true) });
  }

  // A line was heard. If it is one of these lines, the stage has also had the lines before it.
  function heard(text) {
    const index = lines.findIndex((one) => one.text === spaced(text));
    for (const one of lines.splice(0, index + 1)) drop(one);
    if (!lines.length) onWaiting(false);
  }

  // `words` are all lines that a new connection replays. Returns the reader's own lines that the stage has not had.
  function lost(words) {
    const said = new Set(words.map(spaced));
    const missing = lines.filter(({ text }) => !said.has(text));
    for (const one of lines.splice(0)) drop(one);
    return missing.map(({ text }) => text);
  }

  function drop({ element, timer }) {
    clearTimeout(timer);
    element.remove();
  }

  return { add, heard, lost, first: () => lines[0]?.element ?? null };
}

// A line as the server writes it.
const spaced = (text) => text.replace(/\s+/g, " ").trim();

// Cold against warm: a page that takes UpStage 300 ms, three times in a row from an address that no cache has yet. The
// first response is a miss, the second is Varnish's copy, and the third, within the same second, may be nginx's.

import { STATIONS, answered } from "./served.js";

const TIMES = 3;

// Let a click on `button` fill `list`.
export function offerTrial(button, list) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    await coldThenWarm(list);
    button.disabled = false;
  });
}

// Fill `list` with an element for each response: the server, its time, and the outcome.
async function coldThenWarm(list) {
  const url = `/slow?${Math.random().toString(36).slice(2)}`;
  list.replaceChildren();
  let longest = 1;
  for (let number = 0; number < TIMES; number += 1) {
    const started = performance.now();
    let response;
    try {
      response = await fetch(url);
    } catch {
      return; // the page shows elsewhere that it is not connected
    }
    const { station, how, server } = answered(response.headers);
    const milliseconds = server ?? performance.now() - started;
    longest = Math.max(longest, milliseconds);
    list.append(entry(station, how, milliseconds, milliseconds / longest));
  }
}

function entry(station, how, milliseconds, share) {
  const element = document.createElement("li");
  element.dataset.station = station;
  element.style.setProperty("--share", share);
  const name = document.createElement("b");
  name.textContent = STATIONS[station];
  const time = document.createElement("span");
  time.textContent = `${milliseconds.toFixed(0)} ms`;
  const note = document.createElement("small");
  note.textContent = how;
  element.append(name, " ", time, " ", note);
  return element;
}

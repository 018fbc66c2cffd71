// The panel of responses: which server sent each file of this page, and how long it took.

import { offerTrial } from "./coldwarm.js";
import { NOTE, offerFault } from "./fault.js";
import { STATIONS, served } from "./served.js";

const MOST = 400; // files: speech keeps adding some
const COLUMNS = { file: "text", station: "text", server: "number", milliseconds: "number", bytes: "number" };

// parts: {summary, stations, fault, cold, rows}, inside the dialog; its column heads are buttons with data-sort.
export function offerServedPanel({ dialog, opener, parts }) {
  const entries = new Map(); // the last entry of each URL
  let sorting = { column: "milliseconds", descending: true };

  function take(arrived) {
    for (const entry of arrived.filter(({ name }) => !name.endsWith(NOTE))) {
      entries.delete(entry.name); // a later response moves to the end of the list
      entries.set(entry.name, entry);
      if (entries.size > MOST) entries.delete(entries.keys().next().value);
    }
    performance.clearResourceTimings(); // the browser's own list is short and would fill up
    if (dialog.open) show();
  }

  function sort(column) {
    const descending = sorting.column === column ? !sorting.descending : COLUMNS[column] === "number";
    sorting = { column, descending };
    show();
  }

  function show() {
    const files = [...entries.values()].map(served);
    const { column, descending } = sorting;
    const order = COLUMNS[column] === "number" ? (a, b) => a - b : (a, b) => a.localeCompare(b);
    files.sort((one, other) => order(one[column], other[column]) * (descending ? -1 : 1));
    const slowest = Math.max(1, ...files.map(({ milliseconds }) => milliseconds));
    parts.rows.replaceChildren(...files.map((file) => row(file, slowest)));
    count(files);
    for (const head of dialog.querySelectorAll("[data-sort]")) {
      const sorted = descending ? "descending" : "ascending";
      head.closest("th").ariaSort = head.dataset.sort === column ? sorted : "none";
    }
  }

  function count(files) {
    const counts = Object.fromEntries(Object.keys(STATIONS).map((station) => [station, 0]));
    for (const { station } of files) counts[station] += 1;
    for (const box of parts.stations.children) {
      const count = counts[box.dataset.station];
      box.querySelector("b").textContent = count;
      box.style.setProperty("--share", files.length ? count / files.length : 0);
    }
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const relieved = dialog.dataset.relieved.replace("{}", counts.nginx + counts.varnish);
    parts.summary.textContent =
      `${files.length} files, ${size(bytes)} over the network. ${relieved}UpStage had to work for ${counts.upstage}.` +
      means(files);
  }

  const lookForFault = offerFault(dialog, parts.fault);
  opener.addEventListener("click", () => {
    dialog.showModal();
    show();
    lookForFault();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  // The dialog fills its own box, so a click on the dialog itself is one beside the panel.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  for (const head of dialog.querySelectorAll("[data-sort]")) {
    head.addEventListener("click", () => sort(head.dataset.sort));
  }
  offerTrial(dialog.querySelector("[data-cold]"), parts.cold);
  const observer = new PerformanceObserver((list) => take(list.getEntries()));
  for (const type of ["navigation", "resource"]) observer.observe({ type, buffered: true });
}

// A sentence with the servers' average time for UpStage's responses and for copies; empty unless both are known.
function means(files) {
  const known = files.filter(({ server }) => server !== null);
  const [cold, warm] = [true, false].map((asked) => known.filter(({ station }) => (station === "upstage") === asked));
  if (!cold.length || !warm.length) return "";
  const [slow, fast] = [cold, warm].map((some) => some.reduce((sum, { server }) => sum + server, 0) / some.length);
  return ` On average UpStage took ${slow.toFixed(1)} ms, a copy ${fast.toFixed(1)} ms.`;
}

function row({ file, station, how, server, milliseconds, bytes }, slowest) {
  const element = document.createElement("tr");
  element.dataset.station = station;
  const name = cell("th", file);
  name.scope = "row";
  const by = cell("td", STATIONS[station]);
  by.className = "by";
  const note = document.createElement("small");
  note.textContent = how;
  name.append(note);
  const time = cell("td", `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`);
  time.className = "time";
  time.style.setProperty("--share", milliseconds / slowest);
  element.append(name, by, cell("td", server === null ? "–" : `${server} ms`), time, cell("td", size(bytes)));
  return element;
}

function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(2)} MB`;
}

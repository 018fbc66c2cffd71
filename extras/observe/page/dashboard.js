// Draws the dashboard that was chosen (dashboards/NAME.json), again every two seconds, and the line at the top.

import { Chart, Stat } from "./panels.js";
import { PATIENCE, ask, silentSources } from "./prometheus.js";
import { showTraces } from "./traces.js";
import { clock, element, link } from "./words.js";

const PERIOD = 2000; // milliseconds from one round to the next: Prometheus scrapes as often
const POINTS = 150; // points of a line

const parameters = new URLSearchParams(location.search);
const ranges = [...document.querySelectorAll("[data-minutes]")].map(({ dataset }) => dataset.minutes);
const chosen = {
  dashboard: parameters.get("dashboard") ?? "stack",
  minutes: ranges.includes(parameters.get("minutes")) ? parameters.get("minutes") : "5",
};

// --- The line at the top.

const alerts = document.getElementById("alerts");

// Writes the line only if it has changed, because a screen reader would read it again.
function say(...lines) {
  const made = element("div", {}, ...lines);
  if (made.innerHTML !== alerts.innerHTML) alerts.replaceChildren(...made.children);
}

// The fault that `make break` has caused: nginx serves its state (nginx/sites/fault.conf). A fault that was repaired is named
// for as long as the charts go back.
async function fault({ start }) {
  const response = await fetch("/.nginx/fault", { signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
  if (response.status !== 200) return null;
  const state = await response.json();
  return state.mended && state.mended < start ? null : state;
}

function broken({ title, broken, mended }) {
  const when = mended ? `at ${clock(broken)}, and mended` : `since ${clock(broken)}`;
  return element(
    "p",
    { className: mended ? "mended" : "broken" },
    element("b", {}, "Broken"),
    ` on purpose ${when}: ${title}`,
  );
}

function showAlerts(list, fault, idle) {
  const firingFirst = list.toSorted((one, other) => one.state.localeCompare(other.state));
  const made = firingFirst.map(({ state, labels, annotations }) => {
    const word = state === "firing" ? "Firing" : "Pending";
    const line = element(
      "p",
      { className: state },
      element("b", {}, word),
      ` ${annotations.summary ?? labels.alertname} `,
    );
    if (annotations.lesson) line.append(link(`Lesson ${+annotations.lesson.match(/\d+/)}`, annotations.lesson));
    return line;
  });
  if (fault) made.unshift(broken(fault));
  const invitation = idle ? " There are no visitors yet: make load brings some." : "";
  say(...(made.length ? made : [element("p", {}, `All is well.${invitation}`)]));
}

// --- Rounds: one after the other, so that requests do not pile up, and none while the page is hidden.

let answered = null; // seconds since 1970

async function round(panels) {
  const step = Math.max(PERIOD / 1000, (chosen.minutes * 60) / POINTS);
  const now = Date.now() / 1000;
  const end = Math.floor(now / step) * step;
  try {
    const range = { start: end - chosen.minutes * 60, end, step, silent: await silentSources() };
    range.fault = await fault(range); // every chart shades it
    const { alerts } = await ask("alerts");
    if (chosen.dashboard === "stack") await showTraces().catch(console.warn); // before the charts, which link to the traces
    const drawn = await Promise.allSettled(panels.map((panel) => panel.draw(range)));
    showAlerts(alerts, range.fault, panels[0].idle);
    const failed = drawn.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
    answered = now;
  } catch (problem) {
    console.warn(problem);
    panels.forEach((panel) => panel instanceof Stat && panel.clear("no answer"));
    const since = answered ? `The charts end at ${clock(answered)}; this` : "This";
    say(
      element(
        "p",
        { className: "firing" },
        element("b", {}, "No answer"),
        ` from Prometheus. ${since} page asks again.`,
      ),
    );
  }
}

async function main() {
  for (const a of document.querySelectorAll("nav a")) {
    const target = { ...chosen, ...a.dataset };
    a.search = new URLSearchParams(target);
    if (target.dashboard === chosen.dashboard && target.minutes === chosen.minutes) a.ariaCurrent = "page";
  }
  const response = await fetch(`dashboards/${encodeURIComponent(chosen.dashboard)}.json`);
  if (!response.ok) return say(element("p", {}, `There is no dashboard "${chosen.dashboard}".`));
  const dashboard = await response.json();
  document.querySelector("h1").textContent = dashboard.title;
  document.title = `${dashboard.title} – Proscenium`;
  const panels = dashboard.panels.map((panel) => (panel.type === "stat" ? new Stat(panel) : new Chart(panel)));
  document.getElementById("panels").append(...panels.map((panel) => panel.root));
  for (;;) {
    while (document.hidden) await new Promise((done) => addEventListener("visibilitychange", done, { once: true }));
    await round(panels);
    await new Promise((done) => setTimeout(done, PERIOD));
  }
}
main();

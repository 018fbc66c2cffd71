// Draws a dashboard in Grafana's format (dashboards/NAME.json) from Prometheus' HTTP API, again every two seconds.
// It knows the parts of the format that our dashboards use: tests/test_dashboards.py rejects any others.
// Names and values come from metrics, so they become text nodes, never HTML.
"use strict";

const PERIOD = 2000; // milliseconds from one round to the next: Prometheus scrapes as often
const PATIENCE = 10_000; // milliseconds for an answer
const POINTS = 150; // in a line
const SERIES = 8; // colours (--series-0 ...) and dashes before they repeat
const DASHES = [[], [10, 4], [3, 3]]; // of lines: the same as the borders in dashboard.css
const STATES = { green: "good", orange: "watch", red: "bad", blue: "" }; // a threshold's colour -> the word beside it

const parameters = new URLSearchParams(location.search);
const ranges = [...document.querySelectorAll("[data-minutes]")].map(({ dataset }) => dataset.minutes);
const chosen = {
  dashboard: parameters.get("dashboard") ?? "stack",
  minutes: ranges.includes(parameters.get("minutes")) ? parameters.get("minutes") : "5",
};

// --- Values as words.

const rounded = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });
const number = (value) => (Number.isInteger(value) ? value.toLocaleString("en-GB") : rounded.format(value));
const bytes = (value) =>
  value >= 1e9 ? `${number(value / 1e9)} GB` : value >= 1e6 ? `${number(value / 1e6)} MB` : `${number(value / 1e3)} kB`;
const UNITS = {
  // Grafana's names
  none: number,
  reqps: (value) => `${number(value)}/s`,
  cps: (value) => `${number(value)}/s`,
  s: (value) => (value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`),
  percentunit: (value) => `${number(value * 100)} %`,
  decbytes: bytes,
  Bps: (value) => `${bytes(value)}/s`,
};
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

// --- Prometheus.

class Refused extends Error {} // Prometheus has answered, but not with data

async function ask(path, query = {}) {
  const url = `../api/v1/${path}?${new URLSearchParams(query)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) });
  const answer = await response.json();
  if (answer.status !== "success") throw new Refused(answer.error);
  return answer.data;
}

// All lines of a chart on one time axis: { names, data: [times, values, values ...] }, null where there is no value.
async function lines(targets, { start, end, step }) {
  const times = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, i) => start + i * step);
  const names = [],
    data = [times];
  const answers = await Promise.all(targets.map(({ expr }) => ask("query_range", { query: expr, start, end, step })));
  answers.forEach(({ result }, i) =>
    result.forEach(({ metric, values }) => {
      names.push(targets[i].legendFormat.replace(/{{(\w+)}}/g, (_, label) => metric[label] ?? ""));
      const line = new Array(times.length).fill(null);
      for (const [at, value] of values) line[Math.round((at - start) / step)] = isFinite(value) ? +value : null;
      data.push(line);
    }),
  );
  return { names, data };
}

// The exemplar with the highest value, or "".
async function slowest(target, { start, end }) {
  if (!target) return "";
  const series = await ask("query_exemplars", { query: target.expr, start, end });
  const all = series.flatMap(({ exemplars }) => exemplars);
  return all.reduce((most, one) => (most && +most.value >= +one.value ? most : one), "");
}

// The parts of the stack whose figures are missing, as Prometheus or the exporter reports them.
const SOURCES = {
  // a panel's source -> its name, and who must answer
  upstage: ["UpStage", "backend"],
  locust: ["Locust", "locust"],
  exporter: ["The exporter", "exporter"],
  nginx: ["nginx", "nginx", "exporter"],
  varnish: ["Varnish", "varnish", "exporter"],
};
async function silentSources() {
  const { result } = await ask("query", { query: "up == 0 or observe_source_up == 0" });
  return new Set(result.map(({ metric }) => metric.source ?? metric.job));
}

// The current value, one of the last three points: the newest sample may not be there yet, an older one is out of date.
const latest = (line) => line.slice(-3).findLast((value) => value != null);

// --- Panels.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const link = (title, url) => element("a", { href: url, target: "_blank", rel: "noopener", textContent: title });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

class Panel {
  constructor({ id, type, source, title, description, links = [], gridPos, targets, fieldConfig }) {
    this.targets = targets;
    [this.subject, ...this.sources] = SOURCES[source];
    this.defaults = fieldConfig.defaults;
    const note = element("p", { className: "note" }, description);
    for (const { title, url } of links) note.append(" ", link(title, url));
    this.parts = this.makeParts();
    this.root = element(
      "section",
      { className: type },
      element("h2", { id: `panel-${id}` }, title),
      ...this.parts,
      note,
    );
    this.root.setAttribute("aria-labelledby", `panel-${id}`);
    const { x, y, w, h } = gridPos;
    this.root.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
  }

  words(value) {
    return value == null ? "–" : UNITS[this.defaults.unit](value);
  }

  missing(silent) {
    return this.sources.some((source) => silent.has(source)) ? `${this.subject} does not answer` : null;
  }

  // A query that Prometheus refuses concerns this panel only; any other failure ends the round.
  async draw(range) {
    try {
      await this.show(range);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      this.clear(problem.message);
    }
  }
}

// One number, from an instant query, so that it is current or missing.
class Stat extends Panel {
  makeParts() {
    this.value = element("p", { className: "value" });
    this.state = element("p", { className: "state" });
    return [element("div", { className: "reading" }, this.value, this.state)];
  }

  async show({ silent }) {
    const { result } = await ask("query", { query: this.targets[0].expr });
    const value = result.length ? +result[0].value[1] : NaN;
    this.idle = value === 0 && this.defaults.unit === "reqps";
    if (!isFinite(value)) return this.clear(this.missing(silent) ?? this.defaults.noValue ?? "nothing yet");
    const { color } = this.defaults.thresholds.steps.findLast((step) => step.value == null || value >= step.value);
    this.write(this.words(value), STATES[color], color);
  }

  clear(reason) {
    this.write(this.words(null), reason, "none");
  }

  write(value, state, level) {
    this.value.textContent = value;
    this.state.textContent = state;
    this.root.dataset.level = level;
  }
}

class Chart extends Panel {
  makeParts() {
    this.body = element("div", { className: "chart", ariaHidden: "true" }); // the legend has the values as text
    this.legend = element("ul", { className: "legend" });
    this.slowest = element("p", { className: "slowest" });
    this.stacked = this.defaults.custom?.stacking?.mode === "normal";
    return [this.body, this.legend, this.slowest];
  }

  async show(range) {
    const { names, data } = await lines(this.targets, range);
    const named = await slowest(
      this.targets.find(({ exemplar }) => exemplar),
      range,
    );
    this.slowest.replaceChildren(...(named ? this.name(named) : []));
    if (!names.length) return this.clear(this.missing(range.silent) ?? "nothing yet");
    const shown = this.stacked ? stack(data) : data;
    const same = JSON.stringify(this.names) === JSON.stringify(names);
    if (!same) this.clear();
    this.names = names;
    this.data = data;
    this.label(this.plot?.cursor.idx); // first: the chart takes the room that the legend leaves
    const size = { width: this.body.clientWidth, height: this.body.clientHeight };
    if (same) {
      this.plot.setSize(size);
      this.plot.setData(shown);
    } else {
      this.plot = new uPlot(this.options(size), shown, this.body);
    }
  }

  name({ value, labels: { request_id: id } }) {
    const said = `Slowest: ${this.words(+value)}, make trace ID=${id} `;
    const trace = document.querySelector(`[id^="trace-${id}-"]`);
    if (!trace) return [said];
    const open = () => {
      trace.open = true;
    };
    return [said, element("a", { href: `#${trace.id}`, onclick: open, textContent: "where the time went" })];
  }

  clear(reason = "") {
    this.plot?.destroy();
    this.plot = this.names = null;
    this.body.textContent = "";
    this.legend.replaceChildren(...(reason ? [element("li", {}, reason)] : []));
  }

  options(size) {
    const text = parseFloat(getComputedStyle(this.body).fontSize);
    const axis = {
      stroke: () => colour("--muted"),
      grid: { stroke: () => colour("--line"), width: 1 },
      ticks: { show: false },
      font: `${text}px system-ui, sans-serif`,
    };
    const { min, max } = this.defaults;
    return {
      ...size,
      padding: [text, text * 2.5, 0, 0], // on the right, room for half of the last time of day
      legend: { show: false },
      cursor: { sync: { key: "time" }, y: false, points: { show: false }, drag: { x: false } }, // one pointer for all charts
      hooks: { setCursor: [(plot) => this.label(plot.cursor.idx)], drawClear: [shade] },
      scales: { y: { range: (_, low, high) => [min, max ?? (high > min ? high * 1.1 : min + 1)] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(clock), space: text * 4.5, size: text * 2 },
        { ...axis, values: (_, ticks) => ticks.map((tick) => this.words(tick)), space: text * 2.4, size: text * 5 },
      ],
      series: [
        {},
        ...this.names.map((_, i) => {
          const own = () => colour(`--series-${i % SERIES}`);
          return {
            stroke: own,
            width: 2,
            points: { show: false },
            ...(this.stacked ? { fill: () => `${own()}66` } : { dash: DASHES[i % DASHES.length] }),
          };
        }),
      ],
      bands: this.stacked ? this.names.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })) : [],
    };
  }

  // Each line's name, with its value under the pointer or else its newest one.
  label(at) {
    this.legend.replaceChildren(
      ...(this.names ?? []).map((name, i) => {
        const line = this.data[i + 1];
        const mark = element("span", { className: this.stacked ? "band" : `dash-${i % DASHES.length}` });
        mark.style.color = `var(--series-${i % SERIES})`;
        return element("li", {}, mark, name, " ", element("b", {}, this.words(at == null ? latest(line) : line[at])));
      }),
    );
  }
}

// Shades the time of a fault, behind the lines.
function shade(plot) {
  if (!shownFault) return;
  const { left, top, width, height } = plot.bbox;
  const at = (time) => Math.min(Math.max(plot.valToPos(time, "x", true), left), left + width);
  const from = at(shownFault.broken),
    to = at(shownFault.mended || Date.now() / 1000);
  plot.ctx.fillStyle = `${colour("--bad")}33`;
  plot.ctx.fillRect(from, top, Math.max(to - from, 2 * devicePixelRatio), height);
}

function stack([times, ...values]) {
  const sum = new Array(times.length).fill(0);
  return [times, ...values.map((line) => line.map((value, at) => (sum[at] += value ?? 0)))];
}

// --- The last failed and slow requests: when each server worked on them (exporter/traces.py).

const traces = document.getElementById("traces");

async function showTraces() {
  const response = await fetch("/traces", { signal: AbortSignal.timeout(PERIOD), cache: "no-store" });
  if (!response.ok) return;
  const { failed, slow } = await response.json();
  const known = new Map([...traces.querySelectorAll("details")].map((trace) => [trace.id, trace])); // open, perhaps
  const newest = (some) => some.toSorted((one, other) => other.root.began - one.root.began);
  const list = (title, some) =>
    some.length
      ? [element("h2", {}, title), ...newest(some).map((one) => known.get(`trace-${one.id}`) ?? waterfall(one))]
      : [];
  const made = [...list("Failed requests", failed), ...list("Slow requests", slow)];
  if (
    made.length !== traces.children.length ||
    made.some((one, i) => one.textContent !== traces.children[i].textContent)
  )
    traces.replaceChildren(...made);
  traces.hidden = !made.length;
}

// A span and all below it, in the order of their beginnings, each with its depth.
function walk(span, depth = 0) {
  const below = span.spans.toSorted((one, other) => one.began - other.began || other.ended - one.ended);
  return [{ ...span, depth }, ...below.flatMap((each) => walk(each, depth + 1))];
}

function waterfall({ id, trace, title, status, root }) {
  const spans = walk(root);
  const whole = Math.max(...spans.map((span) => span.ended - root.began), 0.001);
  const rows = spans.map(({ depth, service, name: what, began, ended, failed, behind, facts }) => {
    const from = began - root.began,
      seconds = ended - began,
      why = facts["proscenium.why"] ?? facts["error.message"] ?? "";
    const bar = element("i", { className: failed ? "failed" : behind ? "behind" : "" });
    bar.style.marginLeft = `${Math.min((from / whole) * 100, 99)}%`;
    bar.style.width = `${Math.max((seconds / whole) * 100, 0.5)}%`;
    const name = element(
      "span",
      {},
      `${service} ${what}${failed ? ", failed" : ""} `,
      element("small", { className: "note" }, why),
    );
    name.style.paddingLeft = `${depth}em`;
    return element(
      "li",
      {},
      name,
      element("span", { className: "line" }, bar),
      element("span", { className: "took" }, UNITS.s(seconds)),
    );
  });
  const summary = `${clock(root.began)} ${title}: ${status}, ${UNITS.s(root.ended - root.began)}`;
  return element(
    "details",
    { id: `trace-${id}` },
    element("summary", {}, summary),
    element("ol", {}, ...rows),
    element("code", {}, `make trace ID=${trace}`),
  );
}

// --- The line at the top.

const alerts = document.getElementById("alerts");

// Writes the line only if it has changed, because a screen reader would read it again.
function say(...lines) {
  const made = element("div", {}, ...lines);
  if (made.innerHTML !== alerts.innerHTML) alerts.replaceChildren(...made.children);
}

// What `make break` has broken: nginx serves the state of the fault (nginx/sites/fault.conf). A fault that was repaired is named
// for as long as the charts go back.
async function fault({ start }) {
  const response = await fetch("/.nginx/fault", { signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
  if (response.status !== 200) return null;
  const note = await response.json();
  return note.mended && note.mended < start ? null : note;
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

function showAlerts(list, note, idle) {
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
  if (note) made.unshift(broken(note));
  const invitation = idle ? " There are no visitors yet: make load brings some." : "";
  say(...(made.length ? made : [element("p", {}, `All is well.${invitation}`)]));
}

// --- Rounds: one after the other, so that requests do not pile up, and none while the page is hidden.

let answered = null; // seconds since 1970
let shownFault = null; // what every chart shades

async function round(panels) {
  const step = Math.max(PERIOD / 1000, (chosen.minutes * 60) / POINTS);
  const now = Date.now() / 1000;
  const end = Math.floor(now / step) * step;
  try {
    const range = { start: end - chosen.minutes * 60, end, step, silent: await silentSources() };
    shownFault = await fault(range);
    const { alerts } = await ask("alerts");
    if (chosen.dashboard === "stack") await showTraces().catch(console.warn); // before the charts, which lead there
    const drawn = await Promise.allSettled(panels.map((panel) => panel.draw(range)));
    showAlerts(alerts, shownFault, panels[0].idle);
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

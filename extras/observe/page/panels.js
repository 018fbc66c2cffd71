// The panels of a dashboard in Grafana's format, drawn from Prometheus' responses. They know the parts of the format that our
// dashboards use: extras/observe/tests/test_dashboards.py rejects any others.

import { Refused, SOURCES, ask, latest, lines, slowest } from "./prometheus.js";
import { UNITS, clock, element, link } from "./words.js";

const SERIES = 8; // colours (--series-0 ...) and dashes before they repeat
const DASHES = [[], [10, 4], [3, 3]]; // dashes of lines: the same as the borders in dashboard.css
const STATES = { green: "good", orange: "watch", red: "bad", blue: "" }; // the word beside each colour of a threshold

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
export class Stat extends Panel {
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

export class Chart extends Panel {
  makeParts() {
    this.body = element("div", { className: "chart", ariaHidden: "true" }); // the legend gives the values as text
    this.legend = element("ul", { className: "legend" });
    this.slowest = element("p", { className: "slowest" });
    this.stacked = this.defaults.custom?.stacking?.mode === "normal";
    return [this.body, this.legend, this.slowest];
  }

  async show(range) {
    this.fault = range.fault;
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
      hooks: { setCursor: [(plot) => this.label(plot.cursor.idx)], drawClear: [(plot) => shade(plot, this.fault)] },
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
function shade(plot, fault) {
  if (!fault) return;
  const { left, top, width, height } = plot.bbox;
  const at = (time) => Math.min(Math.max(plot.valToPos(time, "x", true), left), left + width);
  const from = at(fault.broken),
    to = at(fault.mended || Date.now() / 1000);
  plot.ctx.fillStyle = `${colour("--bad")}33`;
  plot.ctx.fillRect(from, top, Math.max(to - from, 2 * devicePixelRatio), height);
}

function stack([times, ...values]) {
  const sum = new Array(times.length).fill(0);
  return [times, ...values.map((line) => line.map((value, at) => (sum[at] += value ?? 0)))];
}

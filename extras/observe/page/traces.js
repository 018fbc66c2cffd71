// The last failed and slow requests: when each server worked on them (extras/observe/exporter/traces.py).

import { UNITS, clock, element } from "./words.js";

const PATIENCE = 2000; // milliseconds for a response: the charts wait for it

const traces = document.getElementById("traces");

export async function showTraces() {
  const response = await fetch("/traces", { signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
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

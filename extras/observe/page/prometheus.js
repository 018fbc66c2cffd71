// The page's queries to Prometheus' HTTP API.

export const PATIENCE = 10_000; // milliseconds for a response

export class Refused extends Error {} // Prometheus has answered, but not with data

export async function ask(path, query = {}) {
  const url = `../api/v1/${path}?${new URLSearchParams(query)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) });
  const answer = await response.json();
  if (answer.status !== "success") throw new Refused(answer.error);
  return answer.data;
}

// All lines of a chart on one time axis: { names, data: [times, values, values ...] }, null where there is no value.
export async function lines(targets, { start, end, step }) {
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
export async function slowest(target, { start, end }) {
  if (!target) return "";
  const series = await ask("query_exemplars", { query: target.expr, start, end });
  const all = series.flatMap(({ exemplars }) => exemplars);
  return all.reduce((most, one) => (most && +most.value >= +one.value ? most : one), "");
}

// The parts of the stack whose figures are missing, as Prometheus or the exporter reports them.
export const SOURCES = {
  // for each source of a panel, its name, and the jobs and sources that it needs
  upstage: ["UpStage", "backend"],
  locust: ["Locust", "locust"],
  exporter: ["The exporter", "exporter"],
  nginx: ["nginx", "nginx", "exporter"],
  varnish: ["Varnish", "varnish", "exporter"],
};
export async function silentSources() {
  const { result } = await ask("query", { query: "up == 0 or observe_source_up == 0" });
  return new Set(result.map(({ metric }) => metric.source ?? metric.job));
}

// The current value, one of the last three points: the newest sample may not be there yet, an older one is out of date.
export const latest = (line) => line.slice(-3).findLast((value) => value != null);

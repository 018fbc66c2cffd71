// /try/: a scenario in a form and in the address of the page; its requests, one after another; what each server did with them, by
// the headers of the responses and by the requests that reached the origin.

import { timing } from "./served.js";

const MOST = 8; // requests
const LOGGED = 400; // ms until a fetch in the background has reached the origin
const form = document.getElementById("scenario");
const list = document.getElementById("requests");
const lanes = document.getElementById("lanes");
const progress = document.getElementById("progress");
const run = document.getElementById("run");
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// --- The form and the address.

function addRequest(kind = "get", pause = 0) {
  if (list.children.length >= MOST) return;
  const item = document.getElementById("request").content.cloneNode(true).firstElementChild;
  item.querySelector(".kind").value = kind;
  item.querySelector(".pause").value = pause;
  item.querySelector(".remove").addEventListener("click", () => {
    item.remove();
    write();
    document.getElementById("add").focus();
  });
  list.append(item);
}

// The instructions for the origin, as a query string.
function said() {
  const fields = [...new FormData(form)].filter(([, value]) => value !== "");
  const usual = { status: "200", delay: "0" };
  return new URLSearchParams(fields.filter(([name, value]) => usual[name] !== value));
}

const asked = () =>
  [...list.children].map((item) => ({
    kind: item.querySelector(".kind").value,
    pause: Math.min(9, Math.max(0, Number(item.querySelector(".pause").value) || 0)),
  }));

function write() {
  const scenario = said();
  const requests = asked().map(({ kind, pause }) => `${pause || ""}${kind}`);
  scenario.set("ask", requests.join(","));
  history.replaceState(null, "", `#${scenario.toString().replaceAll("%2C", ",").replaceAll("%3D", "=")}`);
}

function read() {
  const scenario = new URLSearchParams(location.hash.slice(1));
  form.reset();
  list.replaceChildren();
  for (const [name, value] of scenario) {
    const field = form.elements.namedItem(name);
    if (field?.type === "checkbox") field.checked = value === "1";
    else if (field?.name) field.value = value;
  }
  for (const one of (scenario.get("ask") || "get,2get").split(",")) {
    const [, pause, kind] = /^(\d?)([a-z]+)$/.exec(one) ?? [];
    if (kind) addRequest(kind, Number(pause));
  }
}

// --- The requests.

const HEADERS = {
  range: { Range: "bytes=0-9" },
  etag: { "If-None-Match": '"first"' },
  language: { "Accept-Language": "fr" },
};

async function ask(url, kind) {
  const credentials = kind === "cookie" ? "same-origin" : "omit";
  const cache = kind === "reload" ? "reload" : "default";
  const began = performance.now();
  document.cookie = `mine=1; path=/try/; max-age=${kind === "cookie" ? 60 : 0}; samesite=strict`;
  try {
    const response = await fetch(url, { credentials, headers: HEADERS[kind] ?? {}, cache });
    await response.text();
    return { kind, response, milliseconds: performance.now() - began };
  } catch {
    return { kind };
  }
}

async function runScenario() {
  write();
  lanes.replaceChildren();
  document.getElementById("shown").hidden = false;
  const word = [...crypto.getRandomValues(new Uint32Array(3))].map((number) => number.toString(36)).join("");
  const scenario = btoa(said()).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const done = [];
  const requests = asked();
  for (const [number, { kind, pause }] of requests.entries()) {
    progress.textContent = `Request ${number + 1} of ${requests.length}`;
    await sleep(1000 * pause);
    const url = `/try/origin/${word}/${scenario}`;
    const results = await Promise.all(kind === "pair" ? [ask(url, "get"), ask(url, "get")] : [ask(url, kind)]);
    done.push(...results.map((result) => ({ ...result, pause })));
  }
  await sleep(LOGGED + Number(form.elements.delay.value));
  const log = await fetch(`/try/log/${word}`, { credentials: "omit" })
    .then((response) => response.json())
    .catch(() => null);
  const seen = new Set(); // IDs: a copy in the browser has the ID of the response that was stored
  lanes.append(...done.map((result, index) => row(result, index + 1, log ?? [], seen)));
  progress.textContent = log
    ? `${done.length} requests; the origin got ${log.length}.`
    : "The origin's log did not arrive: run it again.";
}

// --- The lanes.

// nginx's outcomes when it did not pass the request on.
const OF_NGINX = { hit: "hit: a copy of this second", error: "its own page: no response", synth: "its own page" };

// varnish(headers, outcome) -> Varnish's part in the request, in the words of `make trace`.
function varnish(headers, outcome) {
  const member = (headers.get("Cache-Status") ?? "").split(", ").find((one) => one.startsWith("varnish")) ?? "";
  const ttl = Number(/ttl=(-?\d+)/.exec(member)?.[1] ?? 0);
  const rule = headers.get("X-Rule");
  const why = {
    hit: `fresh for ${ttl} s more`,
    stale: `expired ${-ttl} s ago`,
    miss: member.includes("stored") ? `no usable copy; kept for ${ttl + 1} s` : `no usable copy; not stored: ${rule}`,
    "hit-for-miss": "the last response could not be stored",
    pass: rule,
  }[outcome];
  return why ? `${outcome}: ${why}` : outcome;
}

function row({ kind, pause, response, milliseconds }, number, log, seen) {
  const line = document.createElement("tr");
  const name = document.createElement("th");
  name.scope = "row";
  const words = document.querySelector(`#request`).content.querySelector(`[value="${kind}"]`).textContent;
  name.append(`${number}. ${words}`, element("small", pause ? `after ${pause} s` : ""));
  line.append(name);
  if (!response) {
    line.append(cell("browser", "no response", "answered"));
    return line;
  }
  const id = response.headers.get("X-Request-Id") ?? "";
  const servers = timing(response.headers);
  const own = id !== "" && seen.has(id);
  seen.add(id);
  const fetched = own ? [] : log.filter((entry) => entry.id === id);
  name.append(element("small", id));
  const took = `${response.status} after ${Math.round(milliseconds)} ms`;
  const nginx = servers.nginx?.description;
  const outcome = own || nginx in OF_NGINX ? "" : servers.varnish?.description;
  const behind = outcome === "stale" ? ", in the background" : "";
  const origin = fetched.map(({ status, conditional }) => `${status}${conditional ? ", confirmed" : ""}${behind}`);
  const cells = [
    ["browser", own ? `its own copy: ${took}` : took],
    ["nginx", own || !nginx ? "" : (OF_NGINX[nginx] ?? "asks on")],
    ["varnish", outcome ? varnish(response.headers, outcome) : ""],
    ["upstage", origin.join("; ")],
  ];
  const last = cells.findLastIndex(([, text]) => text);
  const answered = own ? 0 : nginx in OF_NGINX ? 1 : ["hit", "stale", "error", "synth"].includes(outcome) ? 2 : last;
  line.dataset.outcome = own ? "browser" : nginx === "hit" ? "nginx:hit" : (outcome ?? "");
  line.append(...cells.map(([station, text], index) => cell(station, text, index === answered ? "answered" : "")));
  return line;
}

function cell(station, text, className) {
  const made = element("td", text);
  made.dataset.station = station;
  made.className = className;
  return made;
}

const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

document.getElementById("add").addEventListener("click", () => {
  addRequest();
  write();
});
form.addEventListener("input", write);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  run.disabled = true;
  await runScenario().finally(() => (run.disabled = false));
});
addEventListener("hashchange", read);
read();

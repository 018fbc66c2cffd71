// Finds which server sent a file, and how, in an entry of the Performance API, without another request.
//
// Varnish and nginx write their outcomes into Server-Timing (the tables are in varnish/cache_status.vcl and
// nginx/logging/outcome.conf). A file from the browser's own cache has transferSize 0,
// whatever its stored headers say.

export const STATIONS = {
  browser: "This browser",
  nginx: "nginx",
  varnish: "Varnish",
  upstage: "UpStage",
};

// With any other outcome nginx has sent the request to an upstream.
const NGINX = {
  hit: ["nginx", "hit: a copy less than a second old"],
  stale: ["nginx", "stale: an older copy, because Varnish does not answer"],
  disk: ["nginx", "the file, from the disk"],
  synth: ["nginx", "its own page"],
  error: ["nginx", "its own page: no response from behind it"],
};

const VARNISH = {
  hit: ["varnish", "hit: a copy from its memory"],
  stale: ["varnish", "hit: an older copy, while a new one is fetched"],
  synth: ["varnish", "its own response"],
  error: ["varnish", "its own page: UpStage did not answer"],
  miss: ["upstage", "miss: Varnish had no copy and asked"],
  "hit-for-miss": ["upstage", "hit-for-miss: it may not be stored, so Varnish asked"],
  pass: ["upstage", "pass: not for the cache"],
};

// served(entry) -> {file, station, how, server, milliseconds, bytes}; `server` is in milliseconds, null if no server
// stated it; `bytes` counts those that came over the network.
export function served(entry) {
  const { pathname } = new URL(entry.name);
  const [station, how] = outcome(entry);
  const server = station === "browser" ? null : serverTime(entry.serverTiming);
  // From the request to the last byte, without the time in the browser's queue.
  const milliseconds = entry.responseEnd - (entry.requestStart || entry.startTime);
  return { file: short(pathname), station, how, server, milliseconds, bytes: entry.transferSize };
}

// timing(headers) -> {nginx: {description, duration}, varnish: …}: Server-Timing of a response to `fetch`.
export function timing(headers) {
  const members = (headers.get("Server-Timing") ?? "").matchAll(/(\w+);desc="([\w-]+)"(?:;dur=([\d.]+))?/g);
  const entries = [...members].map(([, name, description, duration]) => [
    name,
    { name, description, duration: Number(duration ?? 0) },
  ]);
  return Object.fromEntries(entries);
}

// answered(headers) -> {station, how, server}: as `served`, from the headers of a response to `fetch`.
export function answered(headers) {
  const serverTiming = Object.values(timing(headers));
  const [station, how] = outcome({ serverTiming });
  return { station, how, server: serverTime(serverTiming) };
}

// The milliseconds from the request to the head of the response, as nginx has measured them: without the network and
// without the browser, in which most of the time of a small file passes.
function serverTime(serverTiming) {
  return serverTiming.find(({ name }) => name === "nginx")?.duration ?? null;
}

function outcome({ transferSize, decodedBodySize, serverTiming, responseStatus }) {
  if (transferSize === 0 && decodedBodySize > 0) return ["browser", "its own cache, no request"];
  const said = Object.fromEntries(serverTiming.map(({ name, description }) => [name, description]));
  if (said.nginx in NGINX) return NGINX[said.nginx];
  if (said.varnish in VARNISH) {
    const [station, how] = VARNISH[said.varnish];
    return [station, responseStatus === 304 ? `${how} (304: not changed)` : how];
  }
  return ["upstage", "no cache on the way"];
}

// Leave out the version in a page asset's path: all assets have the same.
function short(path) {
  return path.replace(/^(\/(?:script|style|image))\/[0-9a-f]{12}\//, "$1/…/");
}

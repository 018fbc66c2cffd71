// The front page: its buttons request a file and show the response headers that name the server; its commands name the
// address in the address bar.

import { offerTrial } from "./coldwarm.js";
import { answered } from "./served.js";

const LONGEST_LIST = 6;
const list = document.getElementById("answers");

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => ask(button.dataset.ask));
}

offerTrial(document.querySelector("[data-cold]"), document.getElementById("cold-and-warm"));

// UpStage cannot know whether a browser reached nginx over TLS or through a tunnel.
for (const commands of document.querySelectorAll("[data-origin]")) {
  const text = commands.textContent.replaceAll(commands.dataset.origin, location.origin);
  // -k: nginx's own certificate is signed by no authority.
  commands.textContent = location.protocol === "https:" ? text.replaceAll("curl -I", "curl -kI") : text;
}

async function ask(url) {
  const started = performance.now();
  try {
    // HEAD fetches the headers only. No cache option: "reload" and "no-store" would send Cache-Control: no-cache,
    // which makes the classic site's Varnish fetch the file again.
    const response = await fetch(url, { method: "HEAD" });
    const { server } = answered(response.headers);
    show(url, `${response.status}`, outcome(response.headers), server ?? performance.now() - started);
  } catch {
    show(url, "–", "no response", performance.now() - started);
  }
}

function outcome(headers) {
  const read = headers.get("Server-Timing")?.includes('nginx;desc="disk"');
  return headers.get("Cache-Status") ?? `no cache on the way: ${read ? "nginx read the file" : "UpStage itself"}`;
}

function show(url, status, cache, milliseconds) {
  const entry = document.createElement("li");
  for (const [name, text] of Object.entries({ url, status, cache, time: `${milliseconds.toFixed(0)} ms` })) {
    const part = document.createElement(name === "cache" ? "code" : "span");
    part.className = name;
    part.textContent = text;
    entry.append(part);
  }
  list.prepend(entry);
  while (list.children.length > LONGEST_LIST) list.lastElementChild.remove();
}

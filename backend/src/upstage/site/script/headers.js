// The front page's buttons: request a file and show the response headers that name the server.

const LONGEST_LIST = 6;
const list = document.getElementById("answers");

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => ask(button.dataset.ask));
}

async function ask(url) {
  const started = performance.now();
  try {
    // HEAD fetches the headers only. No cache option: "reload" and "no-store" would send Cache-Control: no-cache,
    // which makes the classic site's Varnish fetch the file again.
    const answer = await fetch(url, { method: "HEAD" });
    const cache = answer.headers.get("Cache-Status") ?? "no cache on the way: the backend itself";
    show(url, `${answer.status}`, cache, performance.now() - started);
  } catch {
    show(url, "–", "no answer", performance.now() - started);
  }
}

function show(url, status, cache, milliseconds) {
  const entry = document.createElement("li");
  for (const [name, text] of Object.entries({ url, status, cache, time: `${milliseconds.toFixed(1)} ms` })) {
    const part = document.createElement(name === "cache" ? "code" : "span");
    part.className = name;
    part.textContent = text;
    entry.append(part);
  }
  list.prepend(entry);
  while (list.children.length > LONGEST_LIST) list.lastElementChild.remove();
}

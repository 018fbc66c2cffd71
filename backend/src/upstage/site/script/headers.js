// The front page's buttons: ask for a file and show what the answer says about who served it.

const LONGEST_LIST = 6;
const list = document.getElementById("answers");

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => ask(button.dataset.ask));
}

async function ask(url) {
  const started = performance.now();
  try {
    // HEAD asks for the headers only. No cache option: "reload" and "no-store" would send Cache-Control: no-cache,
    // and that makes a classic Varnish fetch the file anew.
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

// A lesson's page beside a terminal: a button copies each block of commands; coming back from the terminal brings the
// panel up to date. The page never asks by itself, because its reader watches the requests of this stack.

const SHORTEST = 1000; // ms between two requests: one return fires two events, and nginx keeps its copy for a second
const LONGEST = 10_000; // ms until a request is given up
const SHOWN = 2000; // ms that a button says what it has done

const announcement = document.getElementById("announcement");
const panel = document.getElementById("where"); // null on the pages of the course
let panelText = panel?.innerHTML; // as the server has made it
let asked = -SHORTEST;

function offerCopies(part) {
  for (const block of part.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(block, button));
    const frame = document.createElement("div");
    frame.className = "commands";
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

async function copy(block, button) {
  const done = (await copied(block)) ? "Copied" : "Selected: press Ctrl+C";
  announcement.textContent = button.textContent = done;
  setTimeout(() => {
    button.textContent = "Copy";
    announcement.textContent = ""; // the same text once more would not be announced
  }, SHOWN);
}

// copied(block) -> whether the block is in the clipboard. Without TLS, on any host but localhost, there is no Clipboard API.
async function copied(block) {
  try {
    await navigator.clipboard.writeText(block.textContent.trimEnd()); // no newline: the reader presses Enter
    return true;
  } catch {
    getSelection().selectAllChildren(block);
    return document.execCommand("copy");
  }
}

async function refresh() {
  if (performance.now() - asked < SHORTEST) return;
  asked = performance.now();
  let page;
  try {
    const response = await fetch(location.href, { signal: AbortSignal.timeout(LONGEST) });
    if (!response.ok) return;
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return; // the stack is down, which some lessons want
  }
  const fresh = page.getElementById("where");
  if (!fresh || fresh.innerHTML === panelText) return;
  panelText = fresh.innerHTML;
  const focused = panel.contains(document.activeElement);
  panel.replaceChildren(...fresh.childNodes);
  offerCopies(panel);
  if (focused) panel.focus(); // the element that had the focus is gone
  announcement.textContent = [".state", ".said"].map((part) => panel.querySelector(part)?.textContent ?? "").join(" ");
  const { word } = page.querySelector(".lesson").dataset; // empty: not known
  document.querySelector(".lesson").dataset.word = word;
  for (const place of document.querySelectorAll(".text .word")) place.textContent = word || "WORD";
}

offerCopies(document);
if (panel) {
  addEventListener("focus", refresh);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
}

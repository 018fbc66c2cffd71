// Adds to Locust's page the parts for which Locust has no extension point: descriptions of classes and
// shapes in the form, and the picture in the tab Compare. Locust may redraw the page at any time, so the
// script looks again after every change.
const { descriptions } = window.templateArgs;
const REFRESH = 2000; // milliseconds, as often as the page polls its figures

function note(place, text) {
  let line = place.querySelector(":scope > .proscenium-note");
  if (!line) {
    line = document.createElement("div");
    line.className = "proscenium-note";
    line.style.cssText = "font: 0.8rem/1.4 system-ui, sans-serif; opacity: 0.75; margin-top: 2px";
    place.append(line);
  }
  if (line.textContent !== text) line.textContent = text;
}

function describeForm() {
  const shape = document.querySelector("select[name=shapeClass]");
  if (!shape) return;
  note(shape.parentElement.parentElement, descriptions.shapes[shape.value] ?? "");
  shape.onchange ??= look;
  // With a shape, an empty field means its default, so it must not keep the browser from sending the form.
  for (const field of document.querySelectorAll("input[name=userCount], input[name=spawnRate]")) {
    field.required = shape.value === "Default";
  }
  // The run time is in a section that is closed, and stays there from run to run.
  const time = document.querySelector("input[name=runTime]");
  const start = time?.form?.querySelector("button[type=submit]");
  if (start) {
    const typed = time.value.trim();
    time.oninput ??= look;
    note(start.parentElement, typed && `Ends after ${typed}${/^\d+$/.test(typed) ? " s" : ""}: Advanced options`);
  }
  for (const cell of document.querySelectorAll("tbody td:nth-child(2)")) {
    const text = descriptions.classes[cell.firstChild?.textContent];
    if (text) note(cell, text);
  }
}

let picture; // the element above the table of the tab Compare
async function drawPicture() {
  const tab = new URLSearchParams(location.search).get("tab");
  const table = tab === "compare" && document.querySelector("table");
  if (!table) {
    picture?.remove();
    return;
  }
  picture ??= document.createElement("figure");
  picture.style.cssText = "margin: 0 0 24px; font: 0.9rem/1.5 system-ui, sans-serif; white-space: pre-line";
  const frame = table.parentElement;
  if (frame.previousElementSibling !== picture) frame.before(picture);
  const response = await fetch("./compare/picture");
  if (!response.ok) return;
  const { svg, text } = await response.json();
  const caption = document.createElement("figcaption");
  caption.textContent = text || (svg ? "" : "Choose the load shape Compare or Capacity to fill this table.");
  picture.innerHTML = svg;
  picture.append(caption);
}

let shown; // the tab at the last look
function look() {
  describeForm();
  if (shown !== location.search) {
    shown = location.search;
    drawPicture();
  }
}

new MutationObserver(look).observe(document.getElementById("root"), { childList: true, subtree: true });
setInterval(drawPicture, REFRESH);
look();

// Asks for the state of the class every five seconds and changes what has changed. All of it is text that may come from
// learners' files, so it becomes text nodes, never HTML.
"use strict";

const PERIOD = 5000; // milliseconds from an answer to the next question; the server asks the engine as seldom
const PATIENCE = 90_000; // milliseconds for an answer: a busy engine takes its time
const LONG = 15; // minutes: most lessons are planned for 10 to 15 (docs/course.md)
const DOING = ["working", "again", "done"]; // those who may need help first

const rows = new Map(); // the copy's number -> its row
const buttons = ["by-time", "by-number"].map(id => document.getElementById(id));
let order = "by-time"; // the pressed button
let latest = null; // the last answer

// --- Elements.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Setting what is there already would make a screen reader repeat it, and lose a selection.
function write(node, text, className = node.className) {
  if (node.textContent !== text) node.textContent = text;
  if (node.className !== className) node.className = className;
}

// Brings the children of a parent into this order; one that has its place is not touched, and the focus stays.
function arrange(parent, wanted) {
  const focused = document.activeElement;
  wanted.forEach((node, place) => {
    if (parent.children[place] !== node) parent.insertBefore(node, parent.children[place] ?? null);
  });
  while (parent.children.length > wanted.length) parent.lastElementChild.remove();
  if (focused !== document.activeElement) focused.focus({ preventScroll: true });
}

// --- One copy.

const minutes = ({ at }, copy) => Math.max(0, Math.floor((at - copy.current.since) / 60));
const isLong = (state, copy) => copy.current?.doing === "working" && minutes(state, copy) >= LONG;

function makeRow(copy, lessons) {
  const said = element("div", { tabIndex: 0 });
  const cells = {
    number: element("th", { scope: "row", textContent: copy.number, className: "number" }),
    doing: element("td", { className: "doing" }),
    minutes: element("td", { className: "number minutes" }),
    attempts: element("td", { className: "number" }),
    answers: element("td", { className: "number" }),
    lessons: lessons.map(() => element("td", { className: "lesson" })),
    said: element("td", { className: "said" }, said),
    health: element("td", { className: "health" }),
    memory: element("td", { className: "number" }),
  };
  return { cells, said, row: element("tr", {}, ...Object.values(cells).flat()) };
}

function mark(result, now) {
  if (result.state === "done") return ["✓", "is-done"];
  if (now) return ["●", "is-now"];
  return result.state ? ["○", ""] : ["", ""];
}

function fill({ cells, said, row }, state, copy) {
  const { current } = copy;
  const result = current && copy.lessons.find(({ lesson }) => lesson === current.lesson);
  const title = current && state.lessons.find(({ number }) => number === current.lesson).title;
  const after = { working: "", again: " (again)", done: " (done)" };
  write(cells.doing, current ? `${current.lesson}. ${title}${after[current.doing]}` : "no lesson yet");
  write(cells.minutes, current ? `${minutes(state, copy)} min` : "");
  write(cells.attempts, result ? `${result.attempts}` : "");
  write(cells.answers, result ? `${result.answers}` : "");
  copy.lessons.forEach((result, i) => {
    const [sign, className] = mark(result, result.lesson === current?.lesson);
    write(cells.lessons[i], sign, `lesson ${className}`);
  });
  write(said, current?.said ?? "");
  said.tabIndex = current?.said ? 0 : -1;
  const ill = copy.health !== "healthy" || copy.note;
  write(cells.health, [copy.health, copy.note].filter(Boolean).join("; "), ill ? "health ill" : "health");
  write(cells.memory, `${Math.round(copy.memory)} MiB`);
  row.className = isLong(state, copy) ? "long" : "";
}

// --- All copies.

function sorted({ copies }) {
  if (order === "by-number") return copies;
  const rank = ({ current }) => current ? DOING.indexOf(current.doing) : DOING.length;
  const since = ({ current }) => current?.since ?? 0;
  return copies.toSorted((a, b) => rank(a) - rank(b) || since(a) - since(b) || a.number - b.number);
}

// How many copies are at each lesson now, and how many have done it: "lesson 3: 4 working, 2 done".
function counts({ lessons, copies }) {
  return lessons.flatMap(({ number, title }, i) => {
    const at = copies.filter(({ current }) => current?.lesson === number && current.doing === "working").length;
    const done = copies.filter(copy => copy.lessons[i].state === "done").length;
    const text = `lesson ${number}: ${[at && `${at} working`, done && `${done} done`].filter(Boolean).join(", ")}`;
    return at || done ? [{ text, title }] : [];
  });
}

function totals(state) {
  if (!state.copies.length) return "No class is open.";
  const healthy = state.copies.filter(({ health }) => health === "healthy").length;
  const long = state.copies.filter(copy => isLong(state, copy)).length;
  return `${state.copies.length} ${state.copies.length === 1 ? "copy" : "copies"}, ${healthy} healthy; ${long} at one lesson for ${LONG} minutes or longer`;
}

function head(lessons) {
  const column = (text, className = "") => element("th", { scope: "col", textContent: text, className });
  const numbers = lessons.map(({ number, title }) => Object.assign(column(number, "lesson"), { title }));
  return [
    column("copy"), column("lesson", "doing"), column("for", "number"), column("attempts", "number"),
    column("answers", "number"), ...numbers, column("the check's last sentence", "said"),
    column("health", "health"), column("memory", "number"),
  ];
}

function show(state) {
  const heads = document.getElementById("head");
  if (!heads.children.length) heads.append(...head(state.lessons));
  write(document.getElementById("totals"), totals(state));
  const chips = document.getElementById("counts"), now = counts(state);
  arrange(chips, now.map((_, i) => chips.children[i] ?? element("li")));
  now.forEach(({ text, title }, i) => {
    write(chips.children[i], text);
    chips.children[i].title = title;
  });
  const wanted = sorted(state).map(copy => {
    if (!rows.has(copy.number)) rows.set(copy.number, makeRow(copy, state.lessons));
    fill(rows.get(copy.number), state, copy);
    return rows.get(copy.number).row;
  });
  arrange(document.getElementById("copies"), wanted);
}

// --- Every five seconds.

async function ask() {
  const when = document.getElementById("when");
  try {
    const response = await fetch("state.json", { signal: AbortSignal.timeout(PATIENCE) });
    const answer = await response.json();
    if (answer.error !== undefined) throw new Error(answer.error);
    latest = answer;
    show(latest);
    write(when, `as of ${new Date(latest.at * 1000).toLocaleTimeString("en-GB")}`, "");
  } catch (error) {
    const since = latest ? ` since ${new Date(latest.at * 1000).toLocaleTimeString("en-GB")}` : "";
    write(when, `No answer${since}: ${error.message}`, "failed");
  }
  setTimeout(ask, PERIOD);
}

for (const button of buttons) {
  button.addEventListener("click", () => {
    order = button.id;
    for (const each of buttons) each.setAttribute("aria-pressed", `${each === button}`);
    if (latest) show(latest);
  });
}
ask();

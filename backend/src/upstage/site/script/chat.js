// The chat: a log and a line to type in. Everything received is shown with textContent, never as markup.

import { fits, spokenText } from "./wire.js";

// An evening may be long; the page keeps this many lines.
const LONGEST_LOG = 500;

export class Chat {
  #log;
  #form;
  #hint;
  #send;

  // send(mode, fields) puts a frame on the wire.
  constructor({ log, form, hint, send }) {
    this.#log = log;
    this.#form = form;
    this.#hint = hint;
    this.#send = send;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    form.elements.message.addEventListener("input", () => this.#advise(""));
  }

  reset() {
    this.pause();
  }

  // Nothing can be said now. The log stays readable, and a half-typed line stays in its place.
  pause() {
    for (const element of this.#form.elements) element.disabled = true;
    this.#log.ariaLive = "off"; // a replay of fifty lines is not news
  }

  on = {
    // The server's last lines are the truth, also after a reconnect, so they replace what is here.
    LOAD_CHAT: ({ chat = "" }) => {
      const lines = chat.split("\n").filter((line) => line.trim());
      this.#log.replaceChildren(...lines.map((line) => replayed(spokenText(line))));
      this.#log.scrollTop = this.#log.scrollHeight;
    },

    CONFIRM_LOADED: () => {
      for (const element of this.#form.elements) element.disabled = false;
      this.#log.ariaLive = "polite";
    },

    TEXT: ({ name = "", text }) => this.#add(spoken(name, spokenText(text))),
    ANONTEXT: ({ text }) => this.#add(line("audience", spokenText(text))),
    MSG: ({ message = "" }) => this.#add(line("note", message)),
    ERR: ({ error = "" }) => this.#add(line("error", error)),
  };

  // The speaker's own line is shown when it comes back, as on everybody else's screen.
  #submit() {
    const input = this.#form.elements.message;
    const fields = { msg: input.value.trim() };
    if (!fields.msg) return;
    if (!fits("TEXT", fields)) return this.#advise("That is too long for one line. Please say it in two.");
    this.#send("TEXT", fields);
    input.value = "";
  }

  #advise(text) {
    this.#hint.textContent = text;
    this.#hint.hidden = !text;
  }

  #add(element) {
    // Somebody who has scrolled back to read is left in peace.
    const following = this.#log.scrollHeight - this.#log.scrollTop - this.#log.clientHeight < 40;
    this.#log.append(element);
    while (this.#log.children.length > LONGEST_LOG) this.#log.firstElementChild.remove();
    if (following) this.#log.scrollTop = this.#log.scrollHeight;
  }
}

function line(kind, text) {
  const element = document.createElement("p");
  element.className = kind;
  element.textContent = text;
  return element;
}

function spoken(name, text) {
  const element = line("avatar-line", ` ${text}`);
  const who = document.createElement("b");
  who.textContent = name;
  element.prepend(who);
  return element;
}

// A replayed line reads "<name> text" when an avatar spoke, and " text" when somebody in the house did.
function replayed(text) {
  const [, name, words] = /^<(.+?)> (.*)$/.exec(text) ?? [];
  return name ? spoken(name, words) : line("audience", text.trim());
}

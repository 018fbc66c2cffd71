// The chat: a log, and a line to type in.

import { interpret } from "./commands.js";
import { line, replayed, said } from "./lines.js";
import { fits, spokenText } from "./wire.js";

// The page keeps this many lines.
const LONGEST_LOG = 500;

export class Chat {
  #log;
  #form;
  #hint;
  #me;
  #catalogue;
  #send;
  #following = true; // false while the reader has scrolled back

  // send(mode, fields) sends a frame.
  constructor({ log, form, hint, me, catalogue, send }) {
    this.#log = log;
    this.#form = form;
    this.#hint = hint;
    this.#me = me;
    this.#catalogue = catalogue;
    this.#send = send;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    form.elements.message.addEventListener("input", () => this.#advise(""));
    log.addEventListener("scroll", () => {
      this.#following = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    });
    // A phone's keyboard makes the log smaller.
    new ResizeObserver(() => this.#follow()).observe(log);
    me.subscribe(() => (form.elements.manner.hidden = !me.avatar));
  }

  reset() {
    this.pause();
  }

  // Disable the input while disconnected. The log stays readable, and a half-typed line stays.
  pause() {
    for (const element of this.#form.elements) element.disabled = true;
    this.#log.ariaLive = "off"; // screen readers must not read out a replay of fifty lines
  }

  on = {
    // The lines from the server replace the log, also after a reconnect.
    LOAD_CHAT: ({ chat = "" }) => {
      const lines = chat.split("\n").filter((text) => text.trim());
      this.#log.replaceChildren(...lines.map((text) => replayed(spokenText(text))));
      this.#following = true;
      this.#follow();
    },

    CONFIRM_LOADED: () => {
      for (const element of this.#form.elements) element.disabled = false;
      this.#log.ariaLive = "polite";
    },

    TEXT: ({ name, text }) => this.#add(said("speech", spokenText(name), spokenText(text))),
    THINK: ({ ID, thought }) => this.#add(said("thought", this.#nameOf(ID), spokenText(thought))),
    SHOUT: ({ ID, shout }) => this.#add(said("shout", this.#nameOf(ID), spokenText(shout))),
    PMESSAGE: ({ ID, pmessage }) => this.#add(said("speech", this.#nameOf(ID), spokenText(pmessage))),
    WHISPER: ({ senderID, text }) => this.#add(said("whisper", `${spokenText(senderID)} whispers`, spokenText(text))),
    ANONTEXT: ({ text }) => this.#add(line("audience", spokenText(text))),
    MSG: ({ message }) => this.#add(line("note", spokenText(message))),
    ERR: ({ error }) => this.#add(line("error", spokenText(error))),
  };

  #nameOf(id) {
    return this.#catalogue.nameOf("avatar", id);
  }

  // The sender's own line is shown when it comes back, as on all other screens.
  #submit() {
    const { message, manner } = this.#form.elements;
    const text = message.value.trim();
    if (!text) return;
    const { mode, fields, notes } = interpret(text, {
      me: this.#me,
      catalogue: this.#catalogue,
      manner: manner.value,
    });
    if (mode && !fits(mode, fields)) return this.#advise("That is too long for one line. Please say it in two.");
    if (mode) this.#send(mode, fields);
    for (const note of notes ?? []) this.#add(line("note", note));
    message.value = "";
  }

  #advise(text) {
    this.#hint.textContent = text;
    this.#hint.hidden = !text;
  }

  #add(element) {
    this.#log.append(element);
    while (this.#log.children.length > LONGEST_LOG) this.#log.firstElementChild.remove();
    this.#follow();
  }

  #follow() {
    if (this.#following) this.#log.scrollTop = this.#log.scrollHeight;
  }
}

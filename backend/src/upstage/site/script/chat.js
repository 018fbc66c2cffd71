// The chat: a log, and a line to type in.

import { interpret } from "./commands.js";
import { line, replayed, said } from "./lines.js";
import { makeUnheard } from "./unheard.js";
import { fits, spokenText } from "./wire.js";

// The page keeps this many lines.
const LONGEST_LOG = 500;
// The modes of frames that come back to all clients as a line, and the field with its words.
const SPOKEN = { TEXT: "msg", THOUGHT: "thought", SHOUT: "shout" };

// send(mode, fields) sends a frame; onWaiting(waiting) tells whether the stage is slow to answer.
export function makeChat({ log, form, hint, me, catalogue, send, onWaiting }) {
  let following = true; // false while the reader has scrolled back
  const unheard = makeUnheard({ log, onWaiting });

  const on = {
    // The lines from the server replace the log, also after a reconnect.
    LOAD_CHAT: ({ chat = "" }) => {
      const lines = chat
        .split("\n")
        .filter((text) => text.trim())
        .map(spokenText);
      const replay = lines.map(replayed);
      const lost = unheard.lost(replay.map((element) => element.lastChild.data));
      if (lost.length) {
        form.elements.message.value ||= lost[0];
        advise(`The connection broke before this was heard: ${lost.join(" / ")}`);
      }
      log.replaceChildren(...replay);
      following = true;
      follow();
    },

    CONFIRM_LOADED: () => {
      for (const element of form.elements) element.disabled = false;
      log.ariaLive = "polite";
    },

    TEXT: ({ name, text }) => spoken("speech", spokenText(name), spokenText(text)),
    THINK: ({ ID, thought }) => spoken("thought", nameOf(ID), spokenText(thought)),
    SHOUT: ({ ID, shout }) => spoken("shout", nameOf(ID), spokenText(shout)),
    PMESSAGE: ({ ID, pmessage }) => add(said("speech", nameOf(ID), spokenText(pmessage))),
    WHISPER: ({ senderID, text }) => add(said("whisper", `${spokenText(senderID)} whispers`, spokenText(text))),
    ANONTEXT: ({ text }) => {
      unheard.heard(spokenText(text));
      add(line("audience", spokenText(text)));
    },
    MSG: ({ message }) => add(line("note", spokenText(message))),
    ERR: ({ error }) => add(line("error", spokenText(error))),
  };

  // Disable the input while disconnected. The log stays readable, and a half-typed line stays.
  function pause() {
    for (const element of form.elements) element.disabled = true;
    log.ariaLive = "off"; // screen readers must not read out a replay of fifty lines
  }

  function nameOf(id) {
    return catalogue.nameOf("avatar", id);
  }

  function spoken(kind, name, text) {
    unheard.heard(text);
    add(said(kind, name, text));
  }

  // The sender's own line waits until it comes back: then all other screens have it, too.
  function submit() {
    const { message, manner } = form.elements;
    const text = message.value.trim();
    if (!text) return;
    const { mode, fields, notes } = interpret(text, { me, catalogue, manner: manner.value });
    if (mode && !fits(mode, fields)) return advise("That is too long for one line. Please say it in two.");
    if (mode) send(mode, fields);
    if (mode in SPOKEN) {
      unheard.add(spokenText(fields[SPOKEN[mode]]));
      follow();
    }
    for (const note of notes ?? []) add(line("note", note));
    message.value = "";
  }

  function advise(text) {
    hint.textContent = text;
    hint.hidden = !text;
  }

  function add(element) {
    log.insertBefore(element, unheard.first());
    while (log.children.length > LONGEST_LOG) log.firstElementChild.remove();
    follow();
  }

  function follow() {
    if (following) log.scrollTop = log.scrollHeight;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.elements.message.addEventListener("input", () => advise(""));
  log.addEventListener("scroll", () => {
    following = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  });
  // A phone's keyboard makes the log smaller.
  new ResizeObserver(follow).observe(log);
  me.subscribe(() => (form.elements.manner.hidden = !me.avatar));

  return { on, pause, reset: pause };
}

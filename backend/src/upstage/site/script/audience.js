// The audience: the counters, a row of heads in front of the stage, and the lines of the audience.

import { say } from "./bubble.js";
import { spokenText } from "./wire.js";

// At most this many heads are drawn; the exact number is shown beside the row.
const MOST_HEADS = 24;

export function makeAudience({ row, players, playerNoun, count }) {
  let turn = 0;

  const on = {
    JOINED: ({ pCount = "0", aCount = "0" }) => {
      players.textContent = pCount;
      playerNoun.textContent = pCount === "1" ? "player" : "players";
      count.textContent = aCount;
      show(Math.min(MOST_HEADS, Number.parseInt(aCount, 10) || 0));
    },

    // The protocol does not say who spoke, so the heads take turns, a good third of the row apart: adjacent
    // bubbles would cover each other.
    ANONTEXT: ({ text }) => {
      const all = heads();
      if (all.length === 0) return;
      turn = (turn + Math.ceil(all.length * 0.38)) % all.length;
      say(all[turn], spokenText(text));
    },
  };

  function heads() {
    return [...row.querySelectorAll(".head")]; // flowers may lie between them
  }

  function show(wanted) {
    while (heads().length > wanted) heads().at(-1).remove();
    while (heads().length < wanted) {
      const head = document.createElement("span");
      head.className = "head";
      row.append(head);
    }
    heads().forEach((head, place) => {
      const where = (place + 1) / (wanted + 1);
      head.dataset.side = where < 0.2 ? "left" : where > 0.8 ? "right" : "middle";
    });
  }

  return { on, reset: () => row.replaceChildren() };
}

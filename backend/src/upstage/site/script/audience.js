// The audience: the counters, a row of heads in front of the stage, and the lines of the audience.

import { say } from "./bubble.js";
import { spokenText } from "./wire.js";

// At most this many heads are drawn; the exact number is shown beside the row.
const MOST_HEADS = 24;

export class Audience {
  #row;
  #players;
  #playerNoun;
  #count;
  #turn = 0;

  constructor({ row, players, playerNoun, count }) {
    this.#row = row;
    this.#players = players;
    this.#playerNoun = playerNoun;
    this.#count = count;
  }

  reset() {
    this.#row.replaceChildren();
  }

  on = {
    JOINED: ({ pCount = "0", aCount = "0" }) => {
      this.#players.textContent = pCount;
      this.#playerNoun.textContent = pCount === "1" ? "player" : "players";
      this.#count.textContent = aCount;
      this.#show(Math.min(MOST_HEADS, Number.parseInt(aCount, 10) || 0));
    },

    // The protocol does not say who spoke, so the heads take turns, a good third of the row apart: adjacent
    // bubbles would cover each other.
    ANONTEXT: ({ text }) => {
      const heads = this.#heads;
      if (heads.length === 0) return;
      this.#turn = (this.#turn + Math.ceil(heads.length * 0.38)) % heads.length;
      say(heads[this.#turn], spokenText(text));
    },
  };

  get #heads() {
    return [...this.#row.querySelectorAll(".head")]; // flowers may lie between them
  }

  #show(wanted) {
    while (this.#heads.length > wanted) this.#heads.at(-1).remove();
    while (this.#heads.length < wanted) {
      const head = document.createElement("span");
      head.className = "head";
      this.#row.append(head);
    }
    const heads = this.#heads;
    heads.forEach((head, place) => {
      const where = (place + 1) / (heads.length + 1);
      head.dataset.side = where < 0.2 ? "left" : where > 0.8 ? "right" : "middle";
    });
  }
}

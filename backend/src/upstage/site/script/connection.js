// The connection to the stage: fetch a key, open the socket, identify, join; reconnect when it breaks.

import { decode, encode } from "./wire.js";

const KEY_TIMEOUT = 10_000;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 10_000;
// After a connection of at least this length, the waits between attempts are short again.
const STEADY = 10_000;

export class Connection {
  #stageId;
  #onFrame;
  #onState;
  #onIdentity;
  #socket = null;
  #failures = 0;
  #finished = false;

  // onFrame(mode, fields) for every frame; onState("connecting" | "connected" | "reconnecting" | "closed");
  // onIdentity({player, canAct, canAdmin, canSu}) before each connection.
  constructor(stageId, { onFrame, onState, onIdentity }) {
    this.#stageId = stageId;
    this.#onFrame = onFrame;
    this.#onState = onState;
    this.#onIdentity = onIdentity;
  }

  async open() {
    this.#onState(this.#failures ? "reconnecting" : "connecting");
    try {
      const { key = "", ...identity } = await fetchIdentity();
      this.#onIdentity(identity);
      this.#listen(key);
    } catch {
      this.#retry();
    }
  }

  send(mode, fields) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(encode(mode, fields));
  }

  // For an error that a retry would not change.
  close() {
    this.#finished = true;
    this.#socket?.close();
    this.#onState("closed");
  }

  #listen(key) {
    const socket = new WebSocket(socketAddress());
    this.#socket = socket;
    let openedAt = Infinity;
    socket.onopen = () => {
      openedAt = performance.now();
      this.#onState("connected");
      this.send("IDENT", { MD5: key });
      this.send("JOIN", { stage_ID: this.#stageId });
    };
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return; // binary messages are for Flash players
      const { mode, fields } = decode(data);
      this.#onFrame(mode, fields);
    };
    // Every failure, before or after the opening, ends in "close".
    socket.onclose = () => {
      if (performance.now() - openedAt > STEADY) this.#failures = 0;
      this.#retry();
    };
  }

  #retry() {
    if (this.#finished) return;
    this.#failures += 1;
    this.#onState("reconnecting");
    const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (this.#failures - 1));
    // Half of the wait is random: otherwise a whole class would reconnect in the same millisecond.
    setTimeout(() => this.open(), delay * (0.5 + Math.random() / 2));
  }
}

// Each connection needs its own key: the server drops it when the socket closes.
async function fetchIdentity() {
  const answer = await fetch("/admin/id", { cache: "no-store", signal: AbortSignal.timeout(KEY_TIMEOUT) });
  if (!answer.ok) throw new Error(`/admin/id answered ${answer.status}`);
  return decode(await answer.text()).fields;
}

function socketAddress() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/ws`;
}

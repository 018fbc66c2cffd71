// The connection to the stage: fetch a key, open the socket, identify, join; reconnect when it breaks.

import { decode, encode } from "./wire.js";

const KEY_TIMEOUT = 10_000;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 10_000;
// After a connection of at least this length, the waits between attempts are short again.
const STEADY = 10_000;

// Calls onFrame(mode, fields) for every frame, onState("connecting" | "connected" | "reconnecting" | "closed") at
// each change, and onIdentity({player, canAct, canAdmin, canSu}) before each connection.
export function makeConnection(stageId, { onFrame, onState, onIdentity }) {
  let socket = null;
  let failures = 0;
  let finished = false;

  async function open() {
    onState(failures ? "reconnecting" : "connecting");
    try {
      const { key = "", ...identity } = await fetchIdentity();
      onIdentity(identity);
      listen(key);
    } catch {
      retry();
    }
  }

  function send(mode, fields) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(encode(mode, fields));
  }

  // Gives up, after an error that a retry would not change.
  function close() {
    finished = true;
    socket?.close();
    onState("closed");
  }

  function listen(key) {
    socket = new WebSocket(socketAddress());
    let openedAt = Infinity;
    socket.onopen = () => {
      openedAt = performance.now();
      onState("connected");
      send("IDENT", { MD5: key });
      send("JOIN", { stage_ID: stageId });
    };
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return; // binary messages are for Flash players
      const { mode, fields } = decode(data);
      onFrame(mode, fields);
    };
    // Every failure, before or after the opening, ends in "close".
    socket.onclose = () => {
      if (performance.now() - openedAt > STEADY) failures = 0;
      retry();
    };
  }

  function retry() {
    if (finished) return;
    failures += 1;
    onState("reconnecting");
    const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (failures - 1));
    // Half of the wait is random: otherwise a whole class would reconnect in the same millisecond.
    setTimeout(open, delay * (0.5 + Math.random() / 2));
  }

  return { open, send, close };
}

// Each connection needs its own key: the server drops it when the socket closes.
async function fetchIdentity() {
  const response = await fetch("/admin/id", { cache: "no-store", signal: AbortSignal.timeout(KEY_TIMEOUT) });
  if (!response.ok) throw new Error(`/admin/id answered ${response.status}`);
  return decode(await response.text()).fields;
}

function socketAddress() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/ws`;
}

// The stage page. Each part lists in `on` the frames it cares about; a frame that nobody lists is ignored.

import { Audience } from "./audience.js";
import { Chat } from "./chat.js";
import { Connection } from "./connection.js";
import { Preload } from "./preload.js";
import { Sounds } from "./sounds.js";
import { Stage } from "./stage.js";
import { Theme } from "./theme.js";

const element = (id) => document.getElementById(id);
const send = (mode, fields) => connection.send(mode, fields);

const preload = new Preload({
  bar: element("load-progress"),
  message: element("splash-message"),
  onDone: () => send("LOADED"),
});
const chat = new Chat({ log: element("chat-log"), form: element("chat-form"), hint: element("chat-hint"), send });
const parts = [
  chat,
  preload,
  new Theme(),
  new Stage(element("stage"), { onImage: (image) => preload.watch(image) }),
  new Audience({
    row: element("seats"),
    players: element("player-count"),
    playerNoun: element("player-noun"),
    count: element("audience-count"),
  }),
  new Sounds(element("sounds")),
  {
    reset() {},
    on: {
      STAGE_NAME: ({ stageName }) => (element("stage-name").textContent = stageName),
      CONFIRM_LOADED: () => (document.body.dataset.state = "live"),
      // Sent for a second login and for a stage that does not exist: asking again would change nothing.
      ERR_DOUBLE_LOGIN: ({ msg }) => {
        connection.close();
        element("splash-message").textContent = msg || "You have taken another seat on this stage.";
      },
    },
  },
];

const STATES = {
  connecting: { body: "loading", says: "Connecting" },
  connected: { body: "loading", says: "Connected" },
  reconnecting: { body: "offline", says: "Reconnecting", splash: "The line to the stage is broken. Trying again." },
  closed: { body: "offline", says: "Closed" },
};

const connection = new Connection(document.querySelector("main").dataset.stage, { onState, onFrame });
connection.open();

function onState(state) {
  const { body, says, splash } = STATES[state];
  const status = element("connection-status");
  status.dataset.state = state;
  status.textContent = says;
  document.body.dataset.state = body;
  if (splash) element("splash-message").textContent = splash;
  chat.pause();
  // A new connection gets everything again. Until then the old scene stays, behind the curtain.
  if (state === "connected") for (const part of parts) part.reset();
}

function onFrame(mode, fields) {
  for (const { on } of parts) {
    if (Object.hasOwn(on, mode)) on[mode](fields);
  }
}

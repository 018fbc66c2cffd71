// The stage page. Each part lists in `on` the frames that it handles; other frames are ignored.

import { makeAudience } from "./audience.js";
import { makeAvatars } from "./avatars.js";
import { makeBackdrops } from "./backdrops.js";
import { makeCalls } from "./calls.js";
import { Catalogue } from "./catalogue.js";
import { makeChat } from "./chat.js";
import { makeClips } from "./clips.js";
import { makeConnection } from "./connection.js";
import { Drawing } from "./drawing.js";
import { makeHand } from "./hand.js";
import { offerServedPanel } from "./servedpanel.js";
import { Loudspeaker } from "./loudspeaker.js";
import { Me } from "./me.js";
import { makePen } from "./pen.js";
import { makePreload } from "./preload.js";
import { makeProps } from "./props.js";
import { makeSoundboard } from "./soundboard.js";
import { makeSpeech } from "./speech.js";
import { tabs } from "./tabs.js";
import { Theme } from "./theme.js";
import { makeTray } from "./tray.js";
import { makeWardrobe } from "./wardrobe.js";

const element = (id) => document.getElementById(id);
element("lost").remove(); // all scripts have arrived
// Identifies a visitor, because crawlers run no scripts (varnish/anonymous.vcl). Elsewhere a cookie would only prevent hits.
if (document.querySelector('[data-topology="default"]'))
  document.cookie = "upstage_seen=1; path=/; max-age=86400; samesite=lax";
const elements = (ids) => Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, element(id)]));
const send = (mode, fields) => connection.send(mode, fields);
const onImage = (image) => preload.watch(image);

const stage = element("stage");
const me = new Me(send);
const catalogue = new Catalogue();
const loudspeaker = new Loudspeaker(element("sound-switch"));
const avatars = makeAvatars(element("avatars"), { onImage });
const preload = makePreload({
  bar: element("load-progress"),
  message: element("splash-message"),
  onDone: () => send("LOADED"),
});
const chat = makeChat({
  log: element("chat-log"),
  form: element("chat-form"),
  hint: element("chat-hint"),
  me,
  catalogue,
  send,
  onWaiting: (waiting) => {
    const { state } = element("connection-status").dataset;
    if (state === "connected" && waiting) show("waiting");
    if (state === "waiting" && !waiting) show("connected");
  },
});
const soundboard = makeSoundboard({ root: element("sounds"), send });

// A frame goes to the parts in this order: identity and catalogue first, then the parts that depend on them.
const parts = [
  me,
  catalogue,
  chat,
  preload,
  new Theme(),
  makeBackdrops(element("backdrops"), { onImage }),
  avatars,
  makeProps(element("props"), { avatars, onImage }),
  new Drawing([...stage.querySelectorAll("canvas")]),
  makeAudience({
    row: element("audience-row"),
    players: element("player-count"),
    playerNoun: element("player-noun"),
    count: element("audience-count"),
  }),
  makeSpeech(loudspeaker),
  makeClips({ loudspeaker, notice: element("now-playing"), onEnded: (url) => soundboard.ended(url) }),
  makeCalls({
    parts: elements({
      applaud: "applaud",
      volunteer: "volunteer",
      askApplause: "ask-applause",
      askVolunteers: "ask-volunteers",
      row: "audience-row",
    }),
    loudspeaker,
    send,
  }),

  // For players. The audience's page has these tools too, hidden; the server enforces the rights.
  soundboard,
  makeTray({ roots: elements({ avatar: "avatar-tray", prop: "prop-tray", backdrop: "backdrop-tray" }), me, send }),
  makeWardrobe({
    root: element("wardrobe"),
    tools: elements({
      name: "show-name",
      rename: "rename",
      forward: "forward",
      backward: "backward",
      exit: "exit",
    }),
    input: element("chat-input"),
    me,
    avatars,
    send,
  }),
  makeHand({ stage, avatars, me, send }),
  makePen({
    stage,
    cursor: element("pen-cursor"),
    tools: elements({
      toggle: "draw",
      layer: "draw-layer",
      colour: "draw-colour",
      thickness: "draw-thickness",
      visible: "draw-visible",
      clear: "draw-clear",
    }),
    me,
    send,
  }),
  {
    reset() {},
    on: {
      STAGE_NAME: ({ stageName }) => (element("stage-name").textContent = stageName),
      CONFIRM_LOADED: () => (document.body.dataset.state = "live"),
      // The stage's things have changed: reload, but not all clients in the same millisecond.
      RELOAD: () => setTimeout(() => location.reload(), Math.random() * 1000),
      // Sent for a second login and for an unknown stage: a retry would change nothing.
      ERR_DOUBLE_LOGIN: ({ msg }) => {
        connection.close();
        element("splash-message").textContent = msg || "You have taken a seat on this stage in another window.";
        element("come-back").hidden = false;
      },
    },
  },
];

tabs(element("tabs"));
element("come-back").addEventListener("click", () => location.reload());
offerServedPanel({
  dialog: element("served-panel"),
  opener: element("served-switch"),
  parts: elements({
    summary: "served-summary",
    stations: "served-stations",
    fault: "served-fault",
    cold: "served-cold",
    rows: "served-rows",
  }),
});

const STATES = {
  connecting: { body: "loading", says: "Connecting" },
  connected: { body: "loading", says: "Connected" },
  waiting: { says: "The stage does not answer" },
  reconnecting: { body: "offline", says: "Reconnecting", splash: "The connection to the stage is lost. Reconnecting." },
  closed: { body: "offline", says: "Closed" },
};

const connection = makeConnection(document.querySelector("main").dataset.stage, {
  onState,
  onFrame,
  // A restarted server has lost all sessions.
  onIdentity: (identity) => {
    const acted = me.acts;
    me.introduce(identity);
    element("player-tools").hidden = !me.acts;
    if (me.acts) element("sign-in-link").textContent = me.name;
    else if (acted) element("sign-in-link").textContent = "Sign in again";
  },
});
connection.open();

function show(state) {
  const status = element("connection-status");
  status.dataset.state = state;
  status.textContent = STATES[state].says;
}

function onState(state) {
  const { body, splash } = STATES[state];
  show(state);
  document.body.dataset.state = body;
  if (splash) element("splash-message").textContent = splash;
  chat.pause();
  // A new connection loads everything again. Until then the old scene stays, behind the curtain.
  if (state === "connected") for (const part of parts) part.reset();
}

function onFrame(mode, fields) {
  for (const { on } of parts) {
    if (Object.hasOwn(on, mode)) on[mode](fields);
  }
}

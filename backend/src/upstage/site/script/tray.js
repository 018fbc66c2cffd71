// The players' trays: a button with a small picture for each avatar, prop and backdrop.

import { picture } from "./picture.js";

// roots: {avatar, prop, backdrop}, the elements that the buttons go into.
export function makeTray({ roots, me, send }) {
  const buttons = { avatar: new Map(), prop: new Map(), backdrop: new Map() };

  const on = {
    LOAD_AV: (thing) => {
      const button = add("avatar", thing, ({ ID }) => take(ID));
      button.dataset.taken = `${thing.available === "False"}`;
    },
    LOAD_PROP: (thing) => {
      add("prop", thing, ({ ID }) => send("PROP", { ID }));
      update();
    },
    LOAD_BACKDROP: (thing) => {
      const button = add("backdrop", thing, ({ ID }) => {
        send("BACKDROP", { ID: button.ariaPressed === "true" ? 0 : ID });
      });
      button.ariaPressed = `${thing.show === "True"}`;
    },

    RENAME: ({ ID, name = "" }) => {
      const label = buttons.avatar.get(ID)?.querySelector("span");
      if (label) label.textContent = name;
    },
    AV_CONNECT: ({ ID }) => mark(ID, true),
    AV_DISCONNECT: ({ ID }) => mark(ID, false),

    BINDPROP: ({ ID, prop }) => {
      for (const [id, button] of buttons.prop) {
        if (id === prop) button.dataset.holder = ID;
        else if (button.dataset.holder === ID) button.dataset.holder = "";
      }
      update();
    },
    PUT_AWAY: ({ ID }) => on.BINDPROP({ ID, prop: "0" }),
    SHOW_BACKDROP: ({ ID }) => {
      for (const [id, button] of buttons.backdrop) button.ariaPressed = `${id === ID}`;
    },
  };

  function reset() {
    for (const [kind, root] of Object.entries(roots)) {
      root.replaceChildren();
      buttons[kind].clear();
    }
  }

  function add(kind, { ID, name = "", url, thumbnail }, onPress) {
    const button = document.createElement("button");
    const label = document.createElement("span");
    label.textContent = name;
    button.type = "button";
    button.className = "thing";
    button.dataset.id = ID;
    button.ariaPressed = "false";
    button.append(picture(thumbnail || url), label);
    button.addEventListener("click", () => button.ariaDisabled !== "true" && onPress({ ID }));
    buttons[kind].set(ID, button);
    roots[kind].append(button);
    return button;
  }

  // Clicking the held avatar again takes it off the stage.
  function take(id) {
    send(id === me.avatar ? "EXIT" : "AV", { ID: id });
  }

  function mark(id, taken) {
    const button = buttons.avatar.get(id);
    if (button) button.dataset.taken = `${taken}`;
    update();
  }

  function update() {
    const { avatar } = me;
    for (const [id, button] of buttons.avatar) {
      const mine = id === avatar;
      const taken = button.dataset.taken === "true" && !mine;
      button.ariaPressed = `${mine}`;
      button.ariaDisabled = `${taken}`;
      button.title = taken ? "Another player holds this avatar" : mine ? "Leave the stage" : "Take this avatar";
    }
    for (const button of buttons.prop.values()) {
      button.ariaDisabled = `${!avatar}`;
      button.ariaPressed = `${Boolean(avatar) && button.dataset.holder === avatar}`;
    }
  }

  me.subscribe(update);

  return { on, reset };
}

// The players' trays: a button with a small picture for each avatar, prop and backdrop.

import { picture } from "./picture.js";

export class Tray {
  #roots;
  #me;
  #send;
  #buttons = { avatar: new Map(), prop: new Map(), backdrop: new Map() };

  // roots: {avatar, prop, backdrop}, the elements that the buttons go into.
  constructor({ roots, me, send }) {
    this.#roots = roots;
    this.#me = me;
    this.#send = send;
    me.subscribe(() => this.#update());
  }

  reset() {
    for (const [kind, root] of Object.entries(this.#roots)) {
      root.replaceChildren();
      this.#buttons[kind].clear();
    }
  }

  on = {
    LOAD_AV: (thing) => {
      const button = this.#add("avatar", thing, ({ ID }) => this.#take(ID));
      button.dataset.taken = `${thing.available === "False"}`;
    },
    LOAD_PROP: (thing) => {
      this.#add("prop", thing, ({ ID }) => this.#send("PROP", { ID }));
      this.#update();
    },
    LOAD_BACKDROP: (thing) => {
      const button = this.#add("backdrop", thing, ({ ID }) => {
        this.#send("BACKDROP", { ID: button.ariaPressed === "true" ? 0 : ID });
      });
      button.ariaPressed = `${thing.show === "True"}`;
    },

    RENAME: ({ ID, name = "" }) => {
      const label = this.#buttons.avatar.get(ID)?.querySelector("span");
      if (label) label.textContent = name;
    },
    AV_CONNECT: ({ ID }) => this.#mark(ID, true),
    AV_DISCONNECT: ({ ID }) => this.#mark(ID, false),

    BINDPROP: ({ ID, prop }) => {
      for (const [id, button] of this.#buttons.prop) {
        if (id === prop) button.dataset.holder = ID;
        else if (button.dataset.holder === ID) button.dataset.holder = "";
      }
      this.#update();
    },
    PUT_AWAY: ({ ID }) => this.on.BINDPROP({ ID, prop: "0" }),
    SHOW_BACKDROP: ({ ID }) => {
      for (const [id, button] of this.#buttons.backdrop) button.ariaPressed = `${id === ID}`;
    },
  };

  #add(kind, { ID, name = "", url, thumbnail }, onPress) {
    const button = document.createElement("button");
    const label = document.createElement("span");
    label.textContent = name;
    button.type = "button";
    button.className = "thing";
    button.dataset.id = ID;
    button.ariaPressed = "false";
    button.append(picture(thumbnail || url), label);
    button.addEventListener("click", () => button.ariaDisabled !== "true" && onPress({ ID }));
    this.#buttons[kind].set(ID, button);
    this.#roots[kind].append(button);
    return button;
  }

  // Clicking the held avatar again takes it off the stage.
  #take(id) {
    this.#send(id === this.#me.avatar ? "EXIT" : "AV", { ID: id });
  }

  #mark(id, taken) {
    const button = this.#buttons.avatar.get(id);
    if (button) button.dataset.taken = `${taken}`;
    this.#update();
  }

  #update() {
    const { avatar } = this.#me;
    for (const [id, button] of this.#buttons.avatar) {
      const mine = id === avatar;
      const taken = button.dataset.taken === "true" && !mine;
      button.ariaPressed = `${mine}`;
      button.ariaDisabled = `${taken}`;
      button.title = taken ? "Another player holds this avatar" : mine ? "Leave the stage" : "Take this avatar";
    }
    for (const button of this.#buttons.prop.values()) {
      button.ariaDisabled = `${!avatar}`;
      button.ariaPressed = `${Boolean(avatar) && button.dataset.holder === avatar}`;
    }
  }
}

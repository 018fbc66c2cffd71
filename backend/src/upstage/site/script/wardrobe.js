// The held avatar's other tools: show its name, rename it, move it in front of or behind others.

export class Wardrobe {
  #root;
  #tools;
  #me;
  #avatars;
  #send;

  // tools: {name, rename, forward, backward, exit}, the buttons inside root; input: the chat's line.
  constructor({ root, tools, input, me, avatars, send }) {
    this.#root = root;
    this.#tools = tools;
    this.#me = me;
    this.#avatars = avatars;
    this.#send = send;
    tools.name.addEventListener("click", () => {
      send("AVPROPERTIES", { ID: me.avatar, show_name: this.#own?.namesItself ? "hide" : "show" });
    });
    tools.rename.addEventListener("click", () => {
      input.value = "/nick ";
      input.focus();
    });
    tools.forward.addEventListener("click", () => this.#step(1));
    tools.backward.addEventListener("click", () => this.#step(-1));
    tools.exit.addEventListener("click", () => send("EXIT", { ID: me.avatar }));
    me.subscribe(() => this.#update());
  }

  reset() {
    this.#update();
  }

  on = {
    AVPROPERTIES: ({ ID }) => ID === this.#me.avatar && this.#update(),
  };

  get #own() {
    return this.#avatars.get(this.#me.avatar);
  }

  #update() {
    this.#root.hidden = !this.#own;
    if (this.#own) this.#tools.name.ariaPressed = `${this.#own.namesItself}`;
  }

  // Depths are swapped with the next avatar on the stage in this direction.
  #step(direction) {
    const order = this.#avatars.inDepth().filter((figure) => figure.onStage);
    const next = order[order.indexOf(this.#own) + direction];
    if (next) this.#send("AVLAYER", { ID: this.#me.avatar, newlayer: next.layer });
  }
}

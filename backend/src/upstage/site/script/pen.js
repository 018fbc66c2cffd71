// The player's pen: a pointer on the stage, or the arrow keys and the space bar, draw on one of the layers.
// A line appears when it comes back from the server, as on all other screens.

import { HEIGHT, WIDTH, between, pointIn } from "./geometry.js";

const PAUSE = 1000 / 30; // no more than 30 points a second
const STRIDE = 4; // of the arrow keys, in stage units
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Pen {
  #stage;
  #tools;
  #me;
  #send;
  #cursor;
  #at = { x: WIDTH / 2, y: HEIGHT / 2 };
  #sent = ""; // the style that the server has
  #down = false;
  #timer = 0;

  // tools: {toggle, layer, colour, thickness, visible, clear}, the elements of the panel.
  constructor({ stage, cursor, tools, me, send }) {
    this.#stage = stage;
    this.#cursor = cursor;
    this.#tools = tools;
    this.#me = me;
    this.#send = send;
    tools.toggle.addEventListener("click", () => (me.drawing ? me.draw(false) : this.#begin()));
    tools.layer.addEventListener("change", () => me.drawing && this.#begin());
    tools.visible.addEventListener("click", () => this.#show(tools.visible.ariaPressed !== "true"));
    tools.clear.addEventListener("click", () => send("DRAW_CLEAR", { layer: tools.layer.value }));
    stage.addEventListener("pointerdown", (event) => this.#touch(event));
    stage.addEventListener("pointermove", (event) => this.#down && this.#aim(pointIn(stage, event)));
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => this.#down && this.#lift());
    stage.addEventListener("keydown", (event) => this.#key(event));
    me.subscribe(() => this.#update());
  }

  reset() {
    this.#sent = "";
    clearInterval(this.#timer);
    this.#down = false;
  }

  on = {
    // Another player may have taken my layer.
    DRAW_LAYER_STATE: (users) => {
      for (const option of this.#tools.layer.options) {
        const user = users[`L${option.value}`];
        option.textContent = option.dataset.label + (user ? ` (${user})` : "");
      }
      if (this.#me.drawing && users[`L${this.#tools.layer.value}`] !== this.#me.name) this.#me.draw(false);
    },

    DRAW_VIS: ({ layer, visible }) => {
      if (layer === this.#tools.layer.value) this.#tools.visible.ariaPressed = `${visible === "True"}`;
    },
  };

  #begin() {
    this.#send("DRAW_LAYER", { layer: this.#tools.layer.value });
    this.#me.draw(true);
    this.#stage.focus({ preventScroll: true });
  }

  #show(visible) {
    this.#send("DRAW_VIS", { layer: this.#tools.layer.value, alpha: 100, visible });
  }

  #update() {
    const { drawing } = this.#me;
    this.#tools.toggle.ariaPressed = `${drawing}`;
    this.#stage.classList.toggle("drawing", drawing);
    this.#stage.tabIndex = drawing ? 0 : -1;
    this.#cursor.hidden = !drawing;
    if (!drawing) this.reset();
  }

  #touch(event) {
    if (!this.#me.drawing || event.button !== 0) return;
    event.preventDefault();
    this.#stage.setPointerCapture(event.pointerId);
    this.#stage.focus({ preventScroll: true });
    this.#aim(pointIn(this.#stage, event));
    this.#lower();
    let last = this.#at;
    this.#timer = setInterval(() => {
      if (this.#at !== last) this.#point("DRAW_LINE");
      last = this.#at;
    }, PAUSE);
  }

  #key(event) {
    if (!this.#me.drawing) return;
    if (event.key === " ") {
      if (this.#down) this.#lift();
      else this.#lower();
    } else if (event.key in ARROWS) {
      const [right, down] = ARROWS[event.key];
      this.#aim({ x: this.#at.x + right * STRIDE, y: this.#at.y + down * STRIDE });
      if (this.#down) this.#point("DRAW_LINE");
    } else return;
    event.preventDefault();
  }

  #aim({ x, y }) {
    this.#at = { x: between(0, x, WIDTH), y: between(0, y, HEIGHT) };
    this.#cursor.style.setProperty("--x", this.#at.x);
    this.#cursor.style.setProperty("--y", this.#at.y);
  }

  #lower() {
    const { colour, thickness } = this.#tools;
    const style = { colour: Number.parseInt(colour.value.slice(1), 16), thickness: thickness.value, alpha: 100 };
    if (this.#sent !== JSON.stringify(style)) this.#send("DRAW_STYLE", style);
    this.#sent = JSON.stringify(style);
    this.#down = true;
    this.#cursor.classList.add("down");
    this.#point("DRAW_MOVE");
  }

  // A last point, so that a dot is a line too.
  #lift() {
    clearInterval(this.#timer);
    this.#point("DRAW_LINE");
    this.#down = false;
    this.#cursor.classList.remove("down");
  }

  #point(mode) {
    this.#send(mode, { x: this.#at.x.toFixed(1), y: this.#at.y.toFixed(1) });
  }
}

// Moving my avatar: drag it (it jumps), point at a place (it walks), or use the arrow keys. It moves when the
// server's frame comes back, as on all other screens; meanwhile a pale copy follows the pointer.

import { pointIn, standing } from "./geometry.js";

const STRIDE = 10;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
// An avatar that was off stage enters from the left, where the widest (picture.js) is not behind the curtain.
const ENTRANCE = { x: 75, y: 176 };

export class Hand {
  #stage;
  #avatars;
  #me;
  #send;
  #own = null; // the figure I hold
  #goal = null; // the arrow keys' target, until the server confirms it
  #drag = null; // {double, grip}

  constructor({ stage, avatars, me, send }) {
    this.#stage = stage;
    this.#avatars = avatars;
    this.#me = me;
    this.#send = send;
    stage.addEventListener("pointerdown", (event) => this.#down(event));
    stage.addEventListener("pointermove", (event) => this.#carry(event));
    stage.addEventListener("pointerup", (event) => this.#drop(event));
    stage.addEventListener("pointercancel", () => this.reset());
    stage.addEventListener("keydown", (event) => this.#key(event));
    me.subscribe(() => this.#update());
  }

  reset() {
    this.#drag?.double?.remove();
    this.#drag = null;
    this.#goal = null;
  }

  on = {
    AV_MOVETOWARD: ({ ID }) => this.#arrived(ID),
    AV_POS: ({ ID }) => this.#arrived(ID),

    AV_CONNECT: ({ ID }) => {
      if (ID === this.#me.avatar && !this.#own?.onStage) this.#send("MOVE", standing(ENTRANCE));
    },
  };

  #arrived(id) {
    if (id === this.#me.avatar) this.#goal = null;
  }

  #update() {
    const own = this.#avatars.get(this.#me.avatar) ?? null;
    if (own === this.#own) return;
    this.reset();
    this.#dress(this.#own, false);
    this.#dress(own, true);
    this.#own = own;
  }

  #dress(figure, mine) {
    if (!figure) return;
    figure.element.classList.toggle("mine", mine);
    if (mine) {
      figure.element.tabIndex = 0;
      figure.element.role = "application"; // or a screen reader would keep the arrow keys
      figure.element.ariaLabel = `${figure.name}, your avatar. Move it with the arrow keys.`;
    } else for (const name of ["tabindex", "role", "aria-label"]) figure.element.removeAttribute(name);
  }

  #down(event) {
    if (!this.#own || this.#me.drawing || event.button !== 0) return;
    const point = pointIn(this.#stage, event);
    if (!this.#own.element.contains(event.target)) {
      this.#send(this.#own.onStage ? "MOVETOWARD" : "MOVE", standing(point));
      return;
    }
    event.preventDefault(); // no dragging of the picture, no text selection
    this.#own.element.focus({ preventScroll: true });
    this.#stage.setPointerCapture(event.pointerId);
    const { x, y } = this.#own.goal;
    this.#drag = { double: null, grip: { x: x - point.x, y: y - point.y } };
  }

  #carry(event) {
    if (!this.#drag) return;
    const to = this.#target(event);
    this.#drag.double ??= this.#double();
    this.#drag.double.style.setProperty("--x", to.X);
    this.#drag.double.style.setProperty("--y", to.Y);
  }

  #drop(event) {
    if (!this.#drag) return;
    if (this.#drag.double) this.#send("MOVE", this.#target(event));
    this.#drag.double?.remove();
    this.#drag = null;
  }

  #target(event) {
    const { x, y } = pointIn(this.#stage, event);
    return standing({ x: x + this.#drag.grip.x, y: y + this.#drag.grip.y });
  }

  #double() {
    const double = this.#own.element.cloneNode(true);
    double.className = "avatar double";
    double.ariaHidden = "true";
    double.removeAttribute("data-id");
    double.removeAttribute("tabindex");
    this.#own.element.parentElement.append(double);
    return double;
  }

  #key(event) {
    if (!(event.key in ARROWS) || event.target !== this.#own?.element || this.#me.drawing) return;
    event.preventDefault(); // the page does not scroll
    const [right, down] = ARROWS[event.key];
    const from = this.#goal ?? this.#own.goal;
    const to = standing({ x: from.x + right * STRIDE, y: from.y + down * STRIDE });
    this.#goal = { x: Number(to.X), y: Number(to.Y) };
    this.#send("MOVETOWARD", to);
  }
}

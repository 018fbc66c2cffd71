// Moving my avatar: drag it (it jumps), point at a place (it walks), or use the arrow keys. It moves when the
// server's frame comes back, as on all other screens; meanwhile a pale copy follows the pointer.

import { pointIn, standing } from "./geometry.js";

const STRIDE = 10;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
// An avatar that was off stage enters from the left, where even the widest picture (picture.js) is not behind the curtain.
const ENTRANCE = { x: 75, y: 176 };

export function makeHand({ stage, avatars, me, send }) {
  let own = null; // the figure I hold
  let goal = null; // the arrow keys' target, until the server confirms it
  let drag = null; // {double, grip}

  const on = {
    AV_MOVETOWARD: ({ ID }) => arrived(ID),
    AV_POS: ({ ID }) => arrived(ID),

    AV_CONNECT: ({ ID }) => {
      if (ID === me.avatar && !own?.onStage) send("MOVE", standing(ENTRANCE));
    },
  };

  function reset() {
    drag?.double?.remove();
    drag = null;
    goal = null;
  }

  function arrived(id) {
    if (id === me.avatar) goal = null;
  }

  function update() {
    const held = avatars.get(me.avatar) ?? null;
    if (held === own) return;
    reset();
    dress(own, false);
    dress(held, true);
    own = held;
  }

  function dress(figure, mine) {
    if (!figure) return;
    figure.element.classList.toggle("mine", mine);
    if (mine) {
      figure.element.tabIndex = 0;
      figure.element.role = "application"; // otherwise a screen reader would keep the arrow keys
      figure.element.ariaLabel = `${figure.name}, your avatar. Move it with the arrow keys.`;
    } else for (const name of ["tabindex", "role", "aria-label"]) figure.element.removeAttribute(name);
  }

  function down(event) {
    if (!own || me.drawing || event.button !== 0) return;
    const point = pointIn(stage, event);
    if (!own.element.contains(event.target)) {
      send(own.onStage ? "MOVETOWARD" : "MOVE", standing(point));
      return;
    }
    event.preventDefault(); // no dragging of the picture, no text selection
    own.element.focus({ preventScroll: true });
    stage.setPointerCapture(event.pointerId);
    const { x, y } = own.goal;
    drag = { double: null, grip: { x: x - point.x, y: y - point.y } };
  }

  function carry(event) {
    if (!drag) return;
    const to = target(event);
    drag.double ??= double();
    drag.double.style.setProperty("--x", to.X);
    drag.double.style.setProperty("--y", to.Y);
  }

  function drop(event) {
    if (!drag) return;
    if (drag.double) send("MOVE", target(event));
    drag.double?.remove();
    drag = null;
  }

  function target(event) {
    const { x, y } = pointIn(stage, event);
    return standing({ x: x + drag.grip.x, y: y + drag.grip.y });
  }

  function double() {
    const double = own.element.cloneNode(true);
    double.className = "avatar double";
    double.ariaHidden = "true";
    double.removeAttribute("data-id");
    double.removeAttribute("tabindex");
    own.element.parentElement.append(double);
    return double;
  }

  function key(event) {
    if (!(event.key in ARROWS) || event.target !== own?.element || me.drawing) return;
    event.preventDefault(); // the page does not scroll
    const [dx, dy] = ARROWS[event.key];
    const from = goal ?? own.goal;
    const to = standing({ x: from.x + dx * STRIDE, y: from.y + dy * STRIDE });
    goal = { x: Number(to.X), y: Number(to.Y) };
    send("MOVETOWARD", to);
  }

  stage.addEventListener("pointerdown", down);
  stage.addEventListener("pointermove", carry);
  stage.addEventListener("pointerup", drop);
  stage.addEventListener("pointercancel", reset);
  stage.addEventListener("keydown", key);
  me.subscribe(update);

  return { on, reset };
}

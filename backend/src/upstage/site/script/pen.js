// The player's pen: a pointer on the stage, or the arrow keys and the space bar, draw on one of the layers.
// A line appears when it comes back from the server, as on all other screens.

import { HEIGHT, WIDTH, between, pointIn } from "./geometry.js";

const PAUSE = 1000 / 30; // no more than 30 points a second
const STRIDE = 4; // the step of the arrow keys, in stage units
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// tools: {toggle, layer, colour, thickness, visible, clear}, the elements of the panel.
export function makePen({ stage, cursor, tools, me, send }) {
  let at = { x: WIDTH / 2, y: HEIGHT / 2 };
  let sent = ""; // the style that was sent last
  let down = false;
  let timer = 0;

  const on = {
    // Another player may have taken my layer.
    DRAW_LAYER_STATE: (users) => {
      for (const option of tools.layer.options) {
        const user = users[`L${option.value}`];
        option.textContent = option.dataset.label + (user ? ` (${user})` : "");
      }
      if (me.drawing && users[`L${tools.layer.value}`] !== me.name) me.draw(false);
    },

    DRAW_VIS: ({ layer, visible }) => {
      if (layer === tools.layer.value) tools.visible.ariaPressed = `${visible === "True"}`;
    },
  };

  function reset() {
    sent = "";
    clearInterval(timer);
    down = false;
  }

  function begin() {
    send("DRAW_LAYER", { layer: tools.layer.value });
    me.draw(true);
    stage.focus({ preventScroll: true });
  }

  function update() {
    const { drawing } = me;
    tools.toggle.ariaPressed = `${drawing}`;
    stage.classList.toggle("drawing", drawing);
    stage.tabIndex = drawing ? 0 : -1;
    cursor.hidden = !drawing;
    if (!drawing) reset();
  }

  function touch(event) {
    if (!me.drawing || event.button !== 0) return;
    event.preventDefault();
    stage.setPointerCapture(event.pointerId);
    stage.focus({ preventScroll: true });
    aim(pointIn(stage, event));
    lower();
    let last = at;
    timer = setInterval(() => {
      if (at !== last) point("DRAW_LINE");
      last = at;
    }, PAUSE);
  }

  function key(event) {
    if (!me.drawing) return;
    if (event.key === " ") {
      if (down) lift();
      else lower();
    } else if (event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key];
      aim({ x: at.x + dx * STRIDE, y: at.y + dy * STRIDE });
      if (down) point("DRAW_LINE");
    } else return;
    event.preventDefault();
  }

  function aim({ x, y }) {
    at = { x: between(0, x, WIDTH), y: between(0, y, HEIGHT) };
    cursor.style.setProperty("--x", at.x);
    cursor.style.setProperty("--y", at.y);
  }

  function lower() {
    const { colour, thickness } = tools;
    const style = { colour: Number.parseInt(colour.value.slice(1), 16), thickness: thickness.value, alpha: 100 };
    if (sent !== JSON.stringify(style)) send("DRAW_STYLE", style);
    sent = JSON.stringify(style);
    down = true;
    cursor.classList.add("down");
    point("DRAW_MOVE");
  }

  // A last point, so that a dot is a line too.
  function lift() {
    clearInterval(timer);
    point("DRAW_LINE");
    down = false;
    cursor.classList.remove("down");
  }

  function point(mode) {
    send(mode, { x: at.x.toFixed(1), y: at.y.toFixed(1) });
  }

  tools.toggle.addEventListener("click", () => (me.drawing ? me.draw(false) : begin()));
  tools.layer.addEventListener("change", () => me.drawing && begin());
  tools.visible.addEventListener("click", () => {
    send("DRAW_VIS", { layer: tools.layer.value, alpha: 100, visible: tools.visible.ariaPressed !== "true" });
  });
  tools.clear.addEventListener("click", () => send("DRAW_CLEAR", { layer: tools.layer.value }));
  stage.addEventListener("pointerdown", touch);
  stage.addEventListener("pointermove", (event) => down && aim(pointIn(stage, event)));
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => down && lift());
  stage.addEventListener("keydown", key);
  me.subscribe(update);

  return { on, reset };
}

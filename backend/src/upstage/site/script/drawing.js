// The four drawing layers: two behind the avatars and two in front of them.

import { between } from "./geometry.js";

const SCALE = 4; // canvas pixels for one unit of the stage
const PEN = { colour: "#000000", thickness: 1, alpha: 1 };

export class Drawing {
  #layers;

  constructor(canvases) {
    this.#layers = canvases.map((canvas) => new Layer(canvas));
  }

  reset() {
    for (const layer of this.#layers) layer.reset();
  }

  on = {
    DRAW_STYLE: ({ layer, ...style }) => this.#layers[layer]?.take(style),
    DRAW_MOVE: ({ layer, x, y }) => this.#layers[layer]?.move(Number(x), Number(y)),
    DRAW_LINE: ({ layer, x, y }) => this.#layers[layer]?.line(Number(x), Number(y)),
    DRAW_VIS: ({ layer, visible, alpha }) => this.#layers[layer]?.show(visible === "True", alpha),
    DRAW_CLEAR: ({ layer }) => this.#layers[layer]?.clear(),
  };
}

class Layer {
  #canvas;
  #context;
  #pen = PEN;
  #at = null;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    this.#context.lineCap = "round";
  }

  reset() {
    this.#pen = PEN;
    this.show(true, 100);
    this.clear();
  }

  // The colour comes as a decimal number, the alpha in hundredths.
  take({ colour, thickness, alpha }) {
    this.#pen = {
      colour: `#${(Number(colour) & 0xffffff).toString(16).padStart(6, "0")}`,
      thickness: between(0.1, Number(thickness) || 1, 100),
      alpha: hundredths(alpha),
    };
  }

  move(x, y) {
    this.#at = { x, y };
  }

  line(x, y) {
    const from = this.#at ?? { x, y };
    const { colour, thickness, alpha } = this.#pen;
    const context = this.#context;
    context.strokeStyle = colour;
    context.lineWidth = thickness * SCALE;
    context.globalAlpha = alpha;
    context.beginPath();
    context.moveTo(from.x * SCALE, from.y * SCALE);
    context.lineTo(x * SCALE, y * SCALE);
    context.stroke();
    this.#at = { x, y };
  }

  show(visible, alpha) {
    this.#canvas.hidden = !visible;
    this.#canvas.style.opacity = hundredths(alpha);
  }

  clear() {
    this.#context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.#at = null;
  }
}

function hundredths(text) {
  const value = Number(text);
  return Number.isFinite(value) ? between(0, value / 100, 1) : 1;
}

// The stage is 320 wide and 200 high, whatever the screen. An avatar's place is where its feet are.

export const WIDTH = 320;
export const HEIGHT = 200;

// Nobody leaves the stage by walking: an avatar at 0 would count as put away.
const MARGIN = 4;

// Where on the stage a pointer event happened.
export function pointIn(root, { clientX, clientY }) {
  const { left, top, width, height } = root.getBoundingClientRect();
  return { x: ((clientX - left) / width) * WIDTH, y: ((clientY - top) / height) * HEIGHT };
}

// The nearest place where an avatar may stand, as MOVE and MOVETOWARD want it.
export function standing({ x, y }) {
  return { X: between(MARGIN, x, WIDTH - MARGIN).toFixed(1), Y: between(MARGIN, y, HEIGHT - MARGIN).toFixed(1) };
}

export function between(least, value, most) {
  return Math.min(most, Math.max(least, value));
}

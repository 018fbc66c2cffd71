// The stage is 320 by 200 units on every screen (backend/src/upstage/stage/things.py). An avatar's place is where its feet are.

export const WIDTH = 320;
export const HEIGHT = 200;

// The smallest coordinate: an avatar at 0 would count as off stage.
const MARGIN = 4;

// The place of a pointer event on the stage.
export function pointIn(root, { clientX, clientY }) {
  const { left, top, width, height } = root.getBoundingClientRect();
  return { x: ((clientX - left) / width) * WIDTH, y: ((clientY - top) / height) * HEIGHT };
}

// The nearest place where an avatar may stand, for MOVE and MOVETOWARD.
export function standing({ x, y }) {
  return { X: between(MARGIN, x, WIDTH - MARGIN).toFixed(1), Y: between(MARGIN, y, HEIGHT - MARGIN).toFixed(1) };
}

export function between(least, value, most) {
  return Math.min(most, Math.max(least, value));
}

// The held avatar's other tools: show its name, rename it, move it in front of or behind others, take it off the stage.

// tools: {name, rename, forward, backward, exit}, the buttons inside root; input: the chat's line.
export function makeWardrobe({ root, tools, input, me, avatars, send }) {
  const on = {
    AVPROPERTIES: ({ ID }) => ID === me.avatar && update(),
  };

  function own() {
    return avatars.get(me.avatar);
  }

  function update() {
    root.hidden = !own();
    if (own()) tools.name.ariaPressed = `${own().namesItself}`;
  }

  // The avatar swaps depths with the next one on the stage in this direction.
  function step(direction) {
    const order = avatars.inDepth().filter((figure) => figure.onStage);
    const next = order[order.indexOf(own()) + direction];
    if (next) send("AVLAYER", { ID: me.avatar, newlayer: next.layer });
  }

  tools.name.addEventListener("click", () => {
    send("AVPROPERTIES", { ID: me.avatar, show_name: own()?.namesItself ? "hide" : "show" });
  });
  tools.rename.addEventListener("click", () => {
    input.value = "/nick ";
    input.focus();
  });
  tools.forward.addEventListener("click", () => step(1));
  tools.backward.addEventListener("click", () => step(-1));
  tools.exit.addEventListener("click", () => send("EXIT", { ID: me.avatar }));
  me.subscribe(update);

  return { on, reset: update };
}

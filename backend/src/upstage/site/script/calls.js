// Applause and volunteers: players show the buttons, the audience presses them, the row of heads claps.

const CLAPPING = 2_600; // milliseconds
const FLOWERS = 9;

// parts: {applaud, volunteer} for the audience, {askApplause, askVolunteers} for players, and row.
export function makeCalls({ parts, loudspeaker, send }) {
  let timer = 0;

  const on = {
    APPLAUSE: () => open("applaud", "askApplause", true),
    NO_APPLAUSE: () => open("applaud", "askApplause", false),
    VOLUNTEER: () => open("volunteer", "askVolunteers", true),
    NO_VOLUNTEER: () => open("volunteer", "askVolunteers", false),

    // Ten clients or a hundred may applaud: play one clip at a time.
    APPLAUSE_PLAY: ({ url = "" }) => {
      if (timer) return;
      clap(true);
      timer = setTimeout(() => clap(false), CLAPPING);
      if (loudspeaker.isOn && url.startsWith("/media/audio/")) loudspeaker.play(new Audio(url));
    },
  };

  function reset() {
    on.NO_APPLAUSE();
    on.NO_VOLUNTEER();
  }

  function open(button, switched, open) {
    parts[button].hidden = !open;
    parts[switched].ariaPressed = `${open}`;
  }

  function clap(claps) {
    const { row } = parts;
    timer = 0;
    row.classList.toggle("clapping", claps);
    for (const flower of row.querySelectorAll(".flower")) flower.remove();
    if (!claps) return;
    for (let number = 0; number < FLOWERS; number += 1) {
      const flower = document.createElement("span");
      flower.className = "flower";
      flower.textContent = "✿";
      flower.style.setProperty("--place", (number + 0.2 + Math.random() * 0.6) / FLOWERS);
      flower.style.setProperty("--delay", `${Math.random() * 0.9}s`);
      row.append(flower);
    }
  }

  const { applaud, volunteer, askApplause, askVolunteers } = parts;
  applaud.addEventListener("click", () => send("PLAY_APPLAUSE", { file: "applause.mp3" }));
  // UpStage's button only changed the volunteer's own screen. Here it tells the players.
  volunteer.addEventListener("click", () => {
    send("TEXT", { msg: "I would like to come on stage!" });
    volunteer.hidden = true;
  });
  askApplause.addEventListener("click", () => {
    if (askApplause.ariaPressed === "true") send("NOAPPLAUSE", { noapplaud: "" });
    else send("APPLAUSE", { applaud: "" });
  });
  askVolunteers.addEventListener("click", () => {
    if (askVolunteers.ariaPressed === "true") send("NOVOLUNTEER", { novolunteer: "" });
    else send("VOLUNTEER", { volunteer: "" });
  });

  return { on, reset };
}

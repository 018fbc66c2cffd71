// Applause and volunteers: players show the buttons, the audience presses them, the row of heads claps.

const CLAPPING = 2_600; // milliseconds
const FLOWERS = 9;

export class Calls {
  #parts;
  #loudspeaker;
  #timer = 0;

  // parts: {applaud, volunteer} for the audience, {askApplause, askVolunteers} for players, and row.
  constructor({ parts, loudspeaker, send }) {
    this.#parts = parts;
    this.#loudspeaker = loudspeaker;
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
  }

  reset() {
    this.on.NO_APPLAUSE();
    this.on.NO_VOLUNTEER();
  }

  on = {
    APPLAUSE: () => this.#open("applaud", "askApplause", true),
    NO_APPLAUSE: () => this.#open("applaud", "askApplause", false),
    VOLUNTEER: () => this.#open("volunteer", "askVolunteers", true),
    NO_VOLUNTEER: () => this.#open("volunteer", "askVolunteers", false),

    // Ten clients or a hundred may applaud: play one clip at a time.
    APPLAUSE_PLAY: ({ url = "" }) => {
      if (this.#timer) return;
      this.#clap(true);
      this.#timer = setTimeout(() => this.#clap(false), CLAPPING);
      if (this.#loudspeaker.isOn && url.startsWith("/media/audio/")) this.#loudspeaker.play(new Audio(url));
    },
  };

  #open(button, switched, open) {
    this.#parts[button].hidden = !open;
    this.#parts[switched].ariaPressed = `${open}`;
  }

  #clap(on) {
    const { row } = this.#parts;
    this.#timer = 0;
    row.classList.toggle("clapping", on);
    for (const flower of row.querySelectorAll(".flower")) flower.remove();
    if (!on) return;
    for (let number = 0; number < FLOWERS; number += 1) {
      const flower = document.createElement("span");
      flower.className = "flower";
      flower.textContent = "✿";
      flower.style.setProperty("--place", (number + 0.2 + Math.random() * 0.6) / FLOWERS);
      flower.style.setProperty("--delay", `${Math.random() * 0.9}s`);
      row.append(flower);
    }
  }
}

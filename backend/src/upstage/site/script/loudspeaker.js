// The sound switch. Browsers allow sound only after a click: this is the button.

const MEMORY = "sound"; // for the lifetime of the tab

export class Loudspeaker {
  isOn = false;
  #button;
  #listeners = [];

  constructor(button) {
    this.#button = button;
    button.addEventListener("click", () => this.#turn(!this.isOn));
    this.#turn(sessionStorage.getItem(MEMORY) === "on");
  }

  // listener() is called after each change.
  subscribe(listener) {
    this.#listeners.push(listener);
  }

  // Plays a clip; if the browser forbids sound, the switch turns off. Returns whether the clip plays.
  async play(audio) {
    try {
      await audio.play();
      return true;
    } catch (error) {
      if (error.name === "NotAllowedError") this.#turn(false);
      return false;
    }
  }

  #turn(on) {
    this.isOn = on;
    sessionStorage.setItem(MEMORY, on ? "on" : "off");
    this.#button.ariaPressed = `${on}`;
    this.#button.textContent = on ? "Sound is on" : "Turn sound on";
    for (const listener of this.#listeners) listener();
  }
}

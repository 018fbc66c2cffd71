// The sound switch. A browser lets a page sound only after somebody has pressed something: this is what to press.

const MEMORY = "sound"; // lasts as long as the tab

export class Loudspeaker {
  isOn = false;
  #button;
  #listeners = [];

  constructor(button) {
    this.#button = button;
    button.addEventListener("click", () => this.#turn(!this.isOn));
    this.#turn(sessionStorage.getItem(MEMORY) === "on");
  }

  // listener() is called when the switch has been turned.
  subscribe(listener) {
    this.#listeners.push(listener);
  }

  // Plays; where the browser forbids that, the switch falls back, to be seen and pressed. True if it sounds.
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

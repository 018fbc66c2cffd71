// A button for each sound of the stage. It plays for the listener who presses it and for nobody else.

export class Sounds {
  #root;
  #playing = new Set();

  constructor(root) {
    this.#root = root;
  }

  reset() {
    for (const audio of this.#playing) audio.pause();
    this.#root.replaceChildren();
  }

  on = {
    // The wire carries a bare file name, as UpStage's did.
    LOAD_AUDIO: ({ name = "", type, url = "" }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sound";
      button.textContent = name;
      button.ariaPressed = "false";
      button.addEventListener("click", () => this.#toggle(button, type, url));
      this.#root.append(button);
    },
  };

  #toggle(button, type, url) {
    button.audio ??= this.#audio(button, type, url);
    const { audio } = button;
    if (audio.paused) audio.play().catch(() => {}); // a missing file leaves the button unpressed
    else audio.pause();
  }

  #audio(button, type, url) {
    const audio = new Audio(`/media/audio/${encodeURIComponent(url)}`);
    audio.loop = type === "music";
    audio.addEventListener("playing", () => {
      button.ariaPressed = "true";
      this.#playing.add(audio);
    });
    audio.addEventListener("pause", () => {
      button.ariaPressed = "false";
      this.#playing.delete(audio);
      audio.currentTime = 0;
    });
    return audio;
  }
}

// This client: its player's name and rights, its socket ID, and the avatar that it holds.

export class Me {
  name = "";
  acts = false;
  avatar = ""; // ID of the avatar I hold, empty: none
  drawing = false; // a pointer on the stage draws instead of moving the avatar
  #send;
  #socket = "";
  #lost = "";
  #listeners = [];

  constructor(send) {
    this.#send = send;
  }

  // Takes the player's name and rights from the response of /admin/id.
  introduce({ player = "", canAct }) {
    this.name = player;
    this.acts = canAct === "True";
    document.body.dataset.role = this.acts ? "player" : "audience";
    this.#tell();
  }

  // listener() is called after each change.
  subscribe(listener) {
    this.#listeners.push(listener);
  }

  draw(on) {
    this.drawing = on;
    this.#tell();
  }

  reset() {
    this.#lost ||= this.avatar;
    this.avatar = "";
    this.drawing = false;
    this.#tell();
  }

  on = {
    SET: ({ ID }) => (this.#socket = ID),

    AV_CONNECT: ({ client, ID }) => {
      if (client !== this.#socket) return;
      this.avatar = ID;
      this.#tell();
    },

    AV_DISCONNECT: ({ client, ID }) => {
      if (client !== this.#socket || ID !== this.avatar) return;
      this.avatar = "";
      this.#tell();
    },

    // Take my avatar again where it stands: the server released it when the connection broke.
    CONFIRM_LOADED: () => {
      if (this.#lost && this.acts) this.#send("AV", { ID: this.#lost });
      this.#lost = "";
    },
  };

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}

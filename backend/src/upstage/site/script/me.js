// Who I am: my name, my rights, my place on the socket, and the avatar in my hand.

export class Me {
  name = "";
  acts = false;
  avatar = ""; // ID of the avatar I hold, empty: none
  drawing = false; // a pointer on the stage draws and does not move the avatar
  #send;
  #socket = "";
  #lost = "";
  #listeners = [];

  constructor(send) {
    this.#send = send;
  }

  // What /admin/id says.
  introduce({ player = "", canAct }) {
    this.name = player;
    this.acts = canAct === "True";
    document.body.dataset.role = this.acts ? "player" : "audience";
    this.#tell();
  }

  // listener() is called when anything of this has changed.
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

    // The server let go of my avatar when the line broke. I take it up where it stands.
    CONFIRM_LOADED: () => {
      if (this.#lost && this.acts) this.#send("AV", { ID: this.#lost });
      this.#lost = "";
    },
  };

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}

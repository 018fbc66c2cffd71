// The stage's things by kind: finds a thing by the name in a slash command, and the avatar of a thought.

export class Catalogue {
  #things = { avatar: new Map(), prop: new Map(), backdrop: new Map() };

  reset() {
    for (const names of Object.values(this.#things)) names.clear();
  }

  on = {
    LOAD_AV: ({ ID, name = "" }) => this.#things.avatar.set(ID, name),
    LOAD_PROP: ({ ID, name = "" }) => this.#things.prop.set(ID, name),
    LOAD_BACKDROP: ({ ID, name = "" }) => this.#things.backdrop.set(ID, name),
    RENAME: ({ ID, name = "" }) => this.#things.avatar.set(ID, name),
  };

  nameOf(kind, id) {
    return this.#things[kind].get(id) ?? "";
  }

  // The ID of the thing that has this ID or name, else of the first with a word that begins so; null if there is none.
  find(kind, words) {
    const wanted = words.trim().toLowerCase();
    const names = [...this.#things[kind]].map(([id, name]) => [id, name.toLowerCase()]);
    const match =
      names.find(([id, name]) => id === wanted || name === wanted) ??
      (wanted && names.find(([, name]) => ` ${name}`.includes(` ${wanted}`)));
    return match ? match[0] : null;
  }
}

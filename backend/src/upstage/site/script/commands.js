// Parses a typed line: UpStage's slash commands, `:` for a thought and `!` for a shout.
//
// interpret("/nick Ann", {me, catalogue}) -> {mode: "RENAME", fields: {name: "Ann"}}, or {notes: [...]} to be shown to
// the writer alone. The server enforces the rights; the notes explain them to the player.

const COMMANDS = {
  help: { does: "shows this list", run: (_, { me }) => ({ notes: help(me) }) },
  info: { does: "says what this server is", run: () => frame("INFO") },
  applause: {
    words: "[off]",
    does: "claps; a player opens or closes the audience's applause button",
    run: (rest, { me }) => {
      if (!me.acts) return frame("PLAY_APPLAUSE", { file: "applause.mp3" });
      return rest === "off" ? frame("NOAPPLAUSE", { noapplaud: "" }) : frame("APPLAUSE", { applaud: "" });
    },
  },
  volunteer: {
    words: "[off]",
    does: "opens or closes the call for volunteers",
    needs: "player",
    run: (rest) => (rest === "off" ? frame("NOVOLUNTEER", { novolunteer: "" }) : frame("VOLUNTEER", { volunteer: "" })),
  },
  details: { does: "lists the players and counts the audience", needs: "player", run: () => frame("DETAILS") },
  wh: {
    words: "NAME, NAME = TEXT",
    does: "whispers to players (* for all of them)",
    needs: "player",
    run: (rest) => frame("WHISPER", { msg: rest }),
  },
  a: {
    words: "NAME",
    does: "takes an avatar",
    needs: "player",
    run: (rest, { catalogue }) => named("AV", "avatar", rest, catalogue),
  },
  b: {
    words: "NAME",
    does: "shows a backdrop; without a name, none",
    needs: "player",
    run: (rest, { catalogue }) =>
      rest ? named("BACKDROP", "backdrop", rest, catalogue) : frame("BACKDROP", { ID: 0 }),
  },
  p: {
    words: "NAME",
    does: "takes a prop, or puts it down",
    needs: "avatar",
    run: (rest, { catalogue }) => named("PROP", "prop", rest, catalogue),
  },
  nick: {
    words: "NAME",
    does: "renames the avatar",
    needs: "avatar",
    run: (rest) => (rest ? frame("RENAME", { name: rest }) : notes("Please add a name: /nick NAME")),
  },
  exit: { does: "leaves the stage", needs: "avatar", run: (_, { me }) => frame("EXIT", { ID: me.avatar }) },
};

const NEEDS = {
  player: "Only players can do that. They sign in at the stage door.",
  avatar: "Take an avatar first.",
};

// A single smiley is not a thought.
const SMILEY = /^:['-]?[()DPpOo|/\\*]+$/;

// The manner ("say", "think", "shout") is the list's value; a prefix takes precedence.
export function interpret(text, { me, catalogue, manner = "say" }) {
  if (text.startsWith("/")) return command(text.slice(1), { me, catalogue });
  if (!me.avatar) return frame("TEXT", { msg: text });
  if (text.startsWith(":") && text.length > 1 && !SMILEY.test(text)) return thought(text.slice(1));
  if (text.startsWith("!") && text.length > 1) return shout(text.slice(1));
  if (manner === "think") return thought(text);
  if (manner === "shout") return shout(text);
  return frame("TEXT", { msg: text });
}

function command(line, context) {
  const [, word, rest] = /^(\S*)\s*(.*)$/s.exec(line);
  const found = Object.hasOwn(COMMANDS, word.toLowerCase()) && COMMANDS[word.toLowerCase()];
  if (!found) return notes(`There is no command /${word}. /help lists all commands.`);
  if (found.needs && !may(found, context.me)) return notes(NEEDS[context.me.acts ? found.needs : "player"]);
  return found.run(rest.trim(), context);
}

function may({ needs }, me) {
  return !needs || (needs === "player" ? me.acts : Boolean(me.avatar));
}

function help(me) {
  const lines = Object.entries(COMMANDS)
    .filter(([, { needs }]) => !needs || me.acts)
    .map(([name, { words = "", does }]) => `/${name}${words && ` ${words}`}: ${does}`);
  return me.acts ? [...lines, ":TEXT thinks, !TEXT shouts"] : lines;
}

function named(mode, kind, words, catalogue) {
  const ID = catalogue.find(kind, words);
  return ID ? frame(mode, { ID }) : notes(`There is no ${kind} of this name: ${words || "(none given)"}`);
}

const frame = (mode, fields = {}) => ({ mode, fields });
const thought = (text) => frame("THOUGHT", { thought: text.trim() });
const shout = (text) => frame("SHOUT", { shout: text.trim().toUpperCase() });
const notes = (...lines) => ({ notes: lines });

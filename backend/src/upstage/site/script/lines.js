// The lines of the chat, as elements. Everything received is shown with textContent, never as markup.

export function line(kind, text) {
  const element = document.createElement("p");
  element.className = kind;
  element.textContent = text;
  return element;
}

// kind: "speech", "thought", "shout" or "whisper".
export function said(kind, name, text) {
  const element = line(`said ${kind}`, ` ${text}`);
  const who = document.createElement("b");
  who.textContent = name;
  element.prepend(who);
  return element;
}

// The forms of a replayed line, as they are in the server's log.
const FORMS = [
  ["speech", /^<(.+?)> (.*)$/],
  ["shout", /^<(.+?)>! (.*)$/],
  ["speech", /^<(.+?)># (.*)$/],
  ["thought", /^\[(.+?)\] \{(.*)\}$/],
];

// " text", with a leading space, is a line without an avatar.
export function replayed(text) {
  for (const [kind, form] of FORMS) {
    const [, name, words] = form.exec(text) ?? [];
    if (name) return said(kind, name, words);
  }
  return line("audience", text.trim());
}

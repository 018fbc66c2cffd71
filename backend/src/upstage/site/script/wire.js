// The stage's wire format: one frame is a form-encoded list of fields, one of them `mode`.
//
// URLSearchParams is exactly this codec: a space is `+`, everything else is percent-encoded UTF-8, and a
// broken escape stays as it was written instead of throwing.

// The server silently drops longer frames.
const MAX_LENGTH = 2048;

// decode("text=good+evening&mode=ANONTEXT") -> {mode: "ANONTEXT", fields: {text: "good evening"}}
export function decode(frame) {
  // The leading "&" is an empty pair. Without it, a frame that begins with "?" would lose that character.
  const { mode = "", ...fields } = Object.fromEntries(new URLSearchParams(`&${frame}`));
  return { mode: mode.toUpperCase(), fields };
}

// encode("TEXT", {msg: "bravo!"}) -> "msg=bravo%21&mode=TEXT". The mode comes last, as UpStage's own client writes it.
export function encode(mode, fields = {}) {
  return new URLSearchParams({ ...fields, mode }).toString();
}

// An encoded frame is pure ASCII, so its length in characters is its length in bytes.
export function fits(mode, fields) {
  return encode(mode, fields).length <= MAX_LENGTH;
}

// Chat text has `<` and `>` escaped, because UpStage's client put it into an HTML field. `&` is left alone, so it
// is not HTML. Returns the typed text, to be shown as text and never as markup.
export function spokenText(text = "") {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
}

// The stage's own colours. They arrive as 0xRRGGBB; each surface also gets a readable text colour.

export class Theme {
  #style = document.documentElement.style;

  reset() {}

  on = {
    PAGE_COLOUR: ({ bgcolour }) => this.#paint("page", bgcolour),
    TOOLS_COLOUR: ({ bgcolour }) => this.#paint("tools", bgcolour),
    BACKDROPANDPROP_COLOUR: ({ bgcolour }) => this.#paint("floor", bgcolour),
    CHAT_COLOUR: ({ bgcolour }) => this.#paint("chat", bgcolour),
  };

  #paint(surface, colour) {
    const [, hex] = /^0x([0-9a-f]{6})$/i.exec(colour) ?? [];
    if (!hex) return;
    this.#style.setProperty(`--${surface}`, `#${hex}`);
    this.#style.setProperty(`--${surface}-ink`, luminance(hex) > 0.18 ? "#1f1b2e" : "#f6e7cb");
  }
}

// Relative luminance as in WCAG 2: 0 is black, 1 is white; near 0.18 dark and light ink read equally well.
function luminance(hex) {
  const [r, g, b] = hex.match(/../g).map((pair) => {
    const value = Number.parseInt(pair, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

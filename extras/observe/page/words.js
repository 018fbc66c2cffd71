// Values as words, in the units of Grafana's names, and elements of the page. Names and values come from metrics, so they become
// text nodes, never HTML.

const rounded = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });
const number = (value) => (Number.isInteger(value) ? value.toLocaleString("en-GB") : rounded.format(value));
const bytes = (value) =>
  value >= 1e9 ? `${number(value / 1e9)} GB` : value >= 1e6 ? `${number(value / 1e6)} MB` : `${number(value / 1e3)} kB`;
export const UNITS = {
  // Grafana's names
  none: number,
  reqps: (value) => `${number(value)}/s`,
  cps: (value) => `${number(value)}/s`,
  s: (value) => (value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`),
  percentunit: (value) => `${number(value * 100)} %`,
  decbytes: bytes,
  Bps: (value) => `${bytes(value)}/s`,
};
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const link = (title, url) => element("a", { href: url, target: "_blank", rel: "noopener", textContent: title });

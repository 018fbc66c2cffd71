// Two facts about a request's headers that no nginx directive finds out: the first header that no
// list of headers.txt names, and one value for the headers that keep copies apart. (`listed` gives
// the list of each lower-case name: starting.sh writes it, nginx reads it with its configuration.)
// https://nginx.org/en/docs/njs/reference.html

import crypto from "crypto";

// The first header that is in no list, in lower case, or nothing.
function unusual(r) {
  const headers = r.rawHeadersIn;
  for (let i = 0; i < headers.length; i++) {
    const name = headers[i][0].toLowerCase();
    // typeof, because a header may be called `constructor`, a property that every object has.
    if (typeof listed[name] !== "string" && !name.startsWith("sec-")) {
      return name.slice(0, 64);
    }
  }
  return "";
}

// One value for all requests that have equal headers of the list `key`.
function variant(r) {
  const lines = r.rawHeadersIn
    .map((header) => [header[0].toLowerCase(), header[1]])
    .filter((header) => listed[header[0]] === "key")
    .sort();
  return crypto.createHash("sha256").update(JSON.stringify(lines)).digest("hex");
}

export default { unusual, variant };

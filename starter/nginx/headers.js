// What no directive of nginx can say about a request's headers: which ones are in no list of
// headers.txt, and what the values are that copies are kept apart by. (`listed` is that file, by
// names in lower case: starting.sh makes it of it. nginx reads it once, not for each request.)
// https://nginx.org/en/docs/njs/reference.html

import crypto from "crypto";

// The first header that is in no list, in lower case, or nothing.
function unusual(r) {
  const headers = r.rawHeadersIn;
  for (let i = 0; i < headers.length; i++) {
    const name = headers[i][0].toLowerCase();
    // Every object has a `constructor`, which is no string.
    if (typeof listed[name] !== "string" && !name.startsWith("sec-")) {
      return name.slice(0, 64);
    }
  }
  return "";
}

// The same for requests whose headers of the list `key` are the same.
function variant(r) {
  const lines = r.rawHeadersIn
    .map((header) => [header[0].toLowerCase(), header[1]])
    .filter((header) => listed[header[0]] === "key")
    .sort();
  return crypto.createHash("sha256").update(JSON.stringify(lines)).digest("hex");
}

export default { unusual, variant };

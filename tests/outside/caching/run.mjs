// node run.mjs PORT URL HOST: the tests of HTTP caches. Starts their origin on 127.0.0.1:PORT, sends their requests to URL,
// where the cache under test answers for HOST, and prints a JSON object: the outcome and the message of each test by its id.
import http from "node:http";
import fetch from "node-fetch";
import { runTests, getResults } from "http-cache-tests/client/runner.mjs";
import { determineTestResult, testLookup } from "http-cache-tests/lib/display.mjs";
import handleConfig from "http-cache-tests/server/handle-config.mjs";
import handleState from "http-cache-tests/server/handle-state.mjs";
import handleTest from "http-cache-tests/server/handle-test.mjs";
import suites from "http-cache-tests/tests/index.mjs";

const OUTCOMES = {
  "✅": "passed",
  "⛔️": "failed",
  "⁉️": "broken",
  "⚠️": "not optimal",
  Y: "yes",
  N: "no",
  "🔹": "not set up",
  "⚪️": "depends on another",
  "↻": "repeated",
};
const NUMBER = "http://number.example/";
const [port, url, host] = process.argv.slice(2);
console.log = console.error; // for the tests' messages

const handlers = { config: handleConfig, state: handleState, test: handleTest };
const origin = http
  .createServer((request, response) => {
    const [, kind, ...rest] = request.url.split("?")[0].split("/");
    request.headers["req-num"] ??= request.headers.referer?.replace(NUMBER, "");
    handlers[kind](rest, request, response);
  })
  .listen(port, "127.0.0.1");
await new Promise((resolve) => origin.on("listening", resolve));

// What a test sets up and reads back does not concern the cache.
// The tests mark each request by headers that browsers do not send: the cache would take it for one by itself. So the number
// of the request, which the origin needs, travels in one that they do send.
function send(target, init = {}) {
  if (!target.startsWith(`${url}/test/`)) return fetch(target.replace(url, `http://127.0.0.1:${port}`), init);
  const marks = ["Test-Name", "Test-ID", "Req-Num"];
  const headers = init.headers.filter(([name]) => !marks.includes(name));
  const [, number] = init.headers.find(([name]) => name === "Req-Num");
  return fetch(target, { ...init, headers: [...headers, ["Host", host], ["Referer", NUMBER + number]] });
}
await runTests(suites, send, false, url, 25);

const results = getResults();
const printed = {};
for (const id of Object.keys(results)) {
  const outcome = OUTCOMES[determineTestResult(suites, id, results)[2]];
  printed[id] = [outcome, `${testLookup(suites, id).name}: ${results[id][1] ?? ""}`];
}
process.stdout.write(JSON.stringify(printed));
process.exit();

// Bodies and paths that are not what they say, made by rule and not by chance: JSON and MessagePack cut
// at every byte, every token alone, counts that promise more than there is, nesting, compressed bodies,
// every method on every path. None may be answered with a failure of the service's own.
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { encodeMsgpack } from "../../../src/http/codec/msgpack.ts";
import type { Attack } from "../attack.ts";
import { figuresOfTally, Fuzzer, newTally, sentencesOf } from "../material/fuzzing.ts";
import type { BodyFormat } from "../material/documents.ts";
import { type DrawnRequest, readApi } from "../material/requests.ts";

const SHORT_EVERY = 16;
const AGENT = "agent://acme/ledger-sync";
const NDJSON = "application/x-ndjson";

/** A body that each of the routes takes. */
const SAMPLES: readonly [string, string, unknown][] = [
  ["POST", "/v1/trust/verify", verifyOf()],
  ["POST", "/v1/trust/verify/batch", { items: [verifyOf()] }],
  ["POST", "/v1/check", { subject: AGENT, stakes: 5 }],
  ["POST", "/v1/handshake", { initiator: AGENT, counterparty: "agent://x/y", stakes: 5 }],
  ["POST", "/v1/outcomes", outcomeOf()],
  ["POST", "/v1/outcomes/batch", [outcomeOf()]],
  ["POST", "/v1/outcomes/import", outcomeOf()],
  ["POST", "/access/v1/evaluation", evaluationOf()],
  ["POST", "/access/v1/evaluations", { evaluations: [evaluationOf()] }],
  ["POST", "/v1/query", { sql: "SELECT 1" }],
  ["PUT", "/v1/evidence/doc:m", { text: "a text" }],
  ["POST", "/v1/evidence", { items: [{ source_id: "doc:m", text: "a text" }] }],
  ["PUT", "/v1/policy", { allow_inverted: false }],
];

function verifyOf() {
  const context = { content: "a text", cited_sources: ["doc:m"], session_duration_sec: 1 };
  return { agent_id: AGENT, action: "order.place", tool_level: "L2", context };
}

function outcomeOf() {
  const agents = { subject: AGENT, reporter: "agent://acme/malformed" };
  return { ...agents, outcome: 1, stakes: 5, grade: "self", id: "malformed-1" };
}

function evaluationOf() {
  const subject = { type: "agent", id: AGENT };
  return { subject, action: { name: "order.place" }, resource: { type: "tool", id: "t" } };
}

export const malformed: Attack = {
  name: "malformed",
  what: "bodies cut, doubled, nested and compressed, every MessagePack token, every odd path",
  play: (stage) =>
    stage.watchedOnBoth(async (service) => {
      const key = await stage.makeKey(service, "malformed", ["admin"]);
      const api = readApi((await stage.ask(service, "/openapi.json")).text);
      const paths = [...new Set(api.operations.map((operation) => operation.path))];
      const all = [...bodies(), ...oddPaths(paths)];
      const played = stage.isShort ? all.filter((_, at) => at % SHORT_EVERY === 0) : all;
      const tally = newTally();
      const fuzzer = new Fuzzer(service.url, key, api.codes, tally);
      for (const request of played) await fuzzer.play(request);
      fuzzer.close();
      return { broken: sentencesOf(tally), figures: figuresOfTally(tally) };
    }),
};

function* bodies(): Generator<DrawnRequest> {
  for (const [method, path, sample] of SAMPLES) {
    const make = (format: BodyFormat, type: string, body: Uint8Array, more = {}): DrawnRequest => ({
      operation: path,
      format,
      damage: [],
      request: { method, path, headers: { "content-type": type, ...more }, body },
    });
    const json = Buffer.from(JSON.stringify(sample));
    const packed = Buffer.from(encodeMsgpack(sample));
    const type = path.endsWith("/import") ? NDJSON : "application/json";
    for (let at = 0; at < json.length; at++) yield make("json", type, json.subarray(0, at));
    for (const text of oddTexts(json.toString()))
      yield make("json", type, Buffer.from(text, "latin1"));
    for (const [coding, compress] of Object.entries(CODINGS)) {
      yield make("json", type, compress(json), { "content-encoding": coding });
      yield make("json", type, compress(Buffer.alloc(4_000_000)).subarray(0, 4000), {
        "content-encoding": coding,
      });
      yield make("json", type, compress(json));
    }
    const msgpack = "application/msgpack";
    for (let at = 0; at < packed.length; at++)
      yield make("msgpack", msgpack, packed.subarray(0, at));
    for (let token = 0; token < 256; token++) {
      yield make("msgpack", msgpack, Buffer.from([token]));
      yield make(
        "msgpack",
        msgpack,
        Buffer.from([token, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      );
      const at = 1 + (token % Math.max(1, packed.length - 1));
      yield make(
        "msgpack",
        msgpack,
        Buffer.concat([packed.subarray(0, at), Buffer.from([token]), packed.subarray(at + 1)]),
      );
    }
    for (const open of [0x91, 0x81]) yield make("msgpack", msgpack, Buffer.alloc(3000, open));
  }
}

const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

function oddTexts(text: string): string[] {
  const [first = "", rest = ""] = [text.slice(0, 1), text.slice(1)];
  const controls = Array.from({ length: 32 }, (_, code) =>
    text.replace('"', `"${String.fromCharCode(code)}`),
  );
  const high = Array.from({ length: 16 }, (_, code) =>
    text.replace('"', `"${String.fromCharCode(0x80 + 8 * code)}`),
  );
  return [
    ...controls,
    ...high,
    `${first}${rest}${text}`,
    `\xef\xbb\xbf${text}`,
    `\xff\xfe${text}`,
    text.replaceAll('"', "'"),
    text.replaceAll(":", "="),
    text.replaceAll(",", ",,"),
    text.replaceAll("}", ",}"),
    `${text}//`,
    `/**/${text}`,
    `[${text}`,
    `${text}]`,
    "[".repeat(5000),
    `${"[".repeat(200)}${text}${"]".repeat(200)}`,
    `{"a":`.repeat(2000),
    `"${"\\u0000".repeat(500)}"`,
    "9".repeat(3000),
    `-${"0".repeat(2000)}`,
    `1e${"9".repeat(300)}`,
    "\r\n\r\n",
    "\0".repeat(100),
    text.replaceAll(/\d+/g, "1e400"),
    text.replaceAll(/\d+/g, "-1"),
    text.replaceAll(/\d+/g, "0x1"),
    text.replaceAll(/\d+/g, "NaN"),
    text.replaceAll(/"agent:[^"]*"/g, '"agent://"'),
    text.replaceAll(/"agent:[^"]*"/g, `"agent://${"a".repeat(600)}/b"`),
    text.replaceAll(/"agent:[^"]*"/g, '"agent://a/\\u0000"'),
    text.replaceAll(/"agent:[^"]*"/g, '"__proto__"'),
    text.replaceAll(/"[a-z_]+":/g, '"__proto__":'),
    text.replaceAll(/"[a-z_]+":/g, '"constructor":'),
  ];
}

const SEGMENTS = [
  "%",
  "%2",
  "%zz",
  "%00",
  "%0d%0a",
  "%c0%af",
  "%ed%a0%80",
  "%ff",
  "%F4%90%80%80",
  "%2e%2e",
  "..",
  ".",
  "//",
  "%2f",
  "a%",
  "\xe9",
  "a".repeat(513),
  "%61".repeat(700),
  "'",
  '"',
  "<x>",
  "{",
  "|",
  "\\",
  "^",
  "`",
  "a;b",
  "a?b?c",
  "a&b",
  "agent%3A%2F%2F",
  "agent://",
  "agent%3A%2F%2Fa%2F..%2Fb",
  "__proto__",
  "constructor",
  "-1",
  "0",
  "1e9",
  "null",
];
const METHODS = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "get",
  "X",
];

/** Every method on every path, and every odd segment at its end, as its parameter and as its query. */
function* oddPaths(paths: readonly string[]): Generator<DrawnRequest> {
  const make = (method: string, path: string): DrawnRequest => {
    // Not even an empty document: a run of kaizen takes none.
    const body = /^(?:GET|HEAD|TRACE|get)$/.test(method) ? undefined : Buffer.from("[");
    return {
      operation: path,
      format: "none",
      damage: [],
      request: { method, path, headers: {}, body },
    };
  };
  for (const path of paths) {
    for (const method of METHODS) yield make(method, path.replace(/\{\w+\}/, "x"));
    for (const segment of SEGMENTS) {
      yield make(
        "GET",
        path.includes("{") ? path.replace(/\{\w+\}/, segment) : `${path}/${segment}`,
      );
      yield make(
        "GET",
        `${path.replace(/\{\w+\}/, "x")}?${segment}=${segment}&limit=${segment}&since=${segment}`,
      );
    }
  }
}

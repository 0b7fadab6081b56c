// The guide's ways to verify a webhook, run as they stand there: they take what the service has signed, and
// nothing that was changed.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { formatSecret, buildSignedHeaders } from "../../src/webhooks/signature.ts";
import { ROOT } from "../examples/_sample-service.ts";
import { fencesOf } from "./_fences.ts";
import { needs } from "../_needs.ts";

/** Inside the package: what it imports is found. */
const FOLDER = join(ROOT, "build/guide-webhooks");
const BODY =
  '{"type":"decision.denied","timestamp":"2026-03-01T12:00:00.000Z",' +
  '"data":{"agent_id":"agent://ünï/cøde"}}';
const [SECRET, FORMER, OTHER] = [1, 2, 3].map((n) => formatSecret(new Uint8Array(32).fill(n)));

const textOf = (name: string) =>
  fencesOf("docs/guide/webhooks.md").find(({ runs }) => runs === name)!.text;

/** Given as JSON: body, headers and secret. */
const NODE = `import { readEvent } from "./verify.mjs";
const { body, headers, secret } = JSON.parse(process.argv[2]);
console.log(readEvent(body, headers, secret).type);`;
const CLIENT = NODE.replace("./verify.mjs", "./client.mjs").replace(
  "readEvent(body, headers, secret)",
  "(await readEvent(body, headers, secret))",
);
const PYTHON = `import sys
given = json.loads(sys.argv[1])
print(read_event(given["body"].encode(), given["headers"], given["secret"])["type"])`;

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "verify.mjs"), textOf("verify in Node"));
  writeFileSync(join(FOLDER, "run.mjs"), NODE);
  writeFileSync(join(FOLDER, "client.mjs"), textOf("verify with the client"));
  writeFileSync(join(FOLDER, "run-client.mjs"), CLIENT);
  writeFileSync(join(FOLDER, "run.py"), `${textOf("verify in Python")}\n\n${PYTHON}\n`);
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const EXPECTED = {
  current: true,
  former: true,
  "another secret": false,
  "another body": false,
  "an old delivery": false,
};

it("verify in Node", () => {
  expect(verifyWith(process.execPath, "run.mjs")).toEqual(EXPECTED);
});
it("verify in the client", () => {
  expect(verifyWith(process.execPath, "run-client.mjs")).toEqual(EXPECTED);
});
it("verify in Python", needs("python3"), () => {
  expect(verifyWith("python3", "run.py")).toEqual(EXPECTED);
});

/** Whether the program takes each of the deliveries below. */
function verifyWith(program: string, file: string): Record<keyof typeof EXPECTED, boolean> {
  const nowMs = Date.now();
  const headers = buildSignedHeaders([SECRET!, FORMER!], "evt_1", nowMs, BODY);
  const isTaken = (given: object) => {
    const parameters = [join(FOLDER, file), JSON.stringify({ body: BODY, headers, ...given })];
    const { status, stdout } = spawnSync(program, parameters, { encoding: "utf8" });
    return status === 0 && stdout === "decision.denied\n";
  };
  const old = buildSignedHeaders([SECRET!], "evt_1", nowMs - 600_000, BODY);
  return {
    current: isTaken({ secret: SECRET }),
    former: isTaken({ secret: FORMER }),
    "another secret": isTaken({ secret: OTHER }),
    "another body": isTaken({ secret: SECRET, body: BODY.replace("denied", "deniee") }),
    "an old delivery": isTaken({ secret: SECRET, headers: old }),
  };
}

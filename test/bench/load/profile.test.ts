// Parts of a profile: each function in the part whose code it is, and only the samples of the stretch.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { partOf, secondsByPart } from "../../../bench/load/profile.ts";

it.each([
  ["(garbage collector)", "", "garbage collection"],
  ["(program)", "", "native: sockets, parsing, crossings"],
  ["add", "file:///x/src/http/server/framing.ts", "head: lines and framing"],
  ["#write", "file:///x/src/http/server/uws-call.ts", "server: callbacks, body, writing"],
  ["admit", "file:///x/src/http/application.ts", "request: id, route, key, guards, counts"],
  ["verifyBytes", "file:///x/src/http/codec/verify-writer.ts", "reply: laying out"],
  ["wasm-function[5]", "wasm://wasm/68868cfa", "engine, scan in WASM"],
  ["record", "file:///x/src/store/decisions/ring.ts", "decision log"],
  ["respond", "file:///x/src/bureau/decisions/verify.ts", "policy and verdict"],
  ["slice", "node:buffer", "Node's own"],
])("%s of `%s` is %s", (name, url, part) => expect(partOf(name, url)).toBe(part));

it("adds up the samples of the main thread in a stretch of time", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-profile-"));
  mkdirSync(directory, { recursive: true });
  const frame = (functionName: string, url = "") => ({ functionName, url });
  const nodes = [
    { id: 1, callFrame: frame("(idle)") },
    { id: 2, callFrame: frame("respond", "file:///x/src/bureau/decisions/verify.ts") },
  ];
  const profile = { nodes, startTime: 0, samples: [2, 2, 1, 2], timeDeltas: [10, 100, 100, 100] };
  writeFileSync(
    path.join(directory, "CPU.20261122.1.77.0.001.cpuprofile"),
    JSON.stringify(profile),
  );
  writeFileSync(path.join(directory, "CPU.20261122.1.77.3.002.cpuprofile"), "{}");
  const seconds = secondsByPart(directory, 50, 1000);
  expect(seconds.get("policy and verdict")).toBeCloseTo(100e-6, 9);
  expect(seconds.get("not running")).toBeCloseTo(100e-6, 9);
});

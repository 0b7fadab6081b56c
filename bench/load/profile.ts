// Profiles as V8 writes them (`--cpu-prof`), read by part of the service: the time in which a sample was
// the top of the stack, for the samples of a stretch of time.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** The members of a profile that are read here; times in microseconds of the monotonic clock. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
}

/** Parts of a request by where the code lies; the first that fits. Native code has no address. */
const PARTS: readonly (readonly [part: string, place: RegExp])[] = [
  ["not running", /^\(idle\)/],
  ["garbage collection", /^\(garbage collector\)/],
  ["head: lines and framing", /server\/framing\.ts/],
  ["server: callbacks, body, writing", /http\/server\//],
  [
    "request: id, route, key, guards, counts",
    /http\/(?!codec|routes)|codec\/(request-id|negotiation)/,
  ],
  ["body: texts of the scan", /verify-scan\.ts/],
  ["reply: laying out", /http\/codec\/|http\/routes\//],
  ["engine, scan in WASM", /\/engine\/|^wasm/],
  ["provenance", /\/vault\/|decisions\/provenance/],
  ["decision log", /\/store\/|log-entry\.ts/],
  ["policy and verdict", /\/policy\/|\/bureau\//],
  ["clock", /steady-clock|perf_hooks|performance/],
  ["other of the service", /\/src\//],
  ["Node's own", /^node:/],
];
/** Sockets (`recv`, `send`, `epoll_wait`), parsing of the message, and the way into and out of V8. */
const NATIVE = "native: sockets, parsing, crossings";

/** Part that a function belongs to. */
export function partOf(functionName: string, url: string): string {
  const place = url === "" ? functionName : url;
  return PARTS.find(([, pattern]) => pattern.test(place))?.[0] ?? NATIVE;
}

/**
 * Seconds by part in a stretch of time, of a process's main thread.
 * @param directory holds the profiles of its threads.
 */
export function secondsByPart(
  directory: string,
  fromUs: number,
  toUs: number,
): Map<string, number> {
  // CPU.date.time.pid.thread.number.cpuprofile: the main thread is 0.
  const file = readdirSync(directory).find((name) => /^CPU\.\d+\.\d+\.\d+\.0\./.test(name));
  if (file === undefined) throw new Error(`no profile of a main thread in \`${directory}\``);
  const profile = JSON.parse(readFileSync(path.join(directory, file), "utf8")) as Profile;
  const parts = new Map(
    profile.nodes.map(({ id, callFrame }) => [id, partOf(callFrame.functionName, callFrame.url)]),
  );
  const seconds = new Map<string, number>();
  let timeUs = profile.startTime;
  for (const [index, node] of profile.samples.entries()) {
    const stretchUs = profile.timeDeltas[index + 1] ?? 0;
    timeUs += profile.timeDeltas[index]!;
    if (timeUs < fromUs || timeUs > toUs) continue;
    const part = parts.get(node)!;
    seconds.set(part, (seconds.get(part) ?? 0) + stretchUs / 1e6);
  }
  return seconds;
}

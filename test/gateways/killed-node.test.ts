// Gateway programs in front of two nodes, of which one is a process that is killed with SIGKILL under
// requests: every end client still gets its verdict.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Edge, openEdge, PATHS, type Program } from "./_edge.ts";
import { stretched } from "../_patience.ts";
import { needs } from "../_needs.ts";

/** Hands every connection on to the port that it is told. */
const NODE = `
const net = require("node:net");
let target = 0;
process.on("message", (port) => { target = port; process.send("ready"); });
const server = net.createServer((near) => {
  const far = net.connect(target, "127.0.0.1");
  for (const [one, other] of [[near, far], [far, near]]) {
    one.pipe(other);
    one.on("error", () => other.destroy());
  }
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
`;
/** Where an example names its first node. */
const FIRST = /127\.0\.0\.1:8080(?=[ ;])|\{\$TRUSTRANK:127\.0\.0\.1:8080\}|"\$\{TRUSTRANK\}"/g;
/** So many that a hash over them leaves neither node out. */
const STRANGERS = Array.from({ length: 12 }, (_, at) => [`newcomer-${at}`, 403] as const);
const AGENTS = [["connect", 200], ["refuse", 403], ["escalate", 403], ...STRANGERS] as const;

/** The line of an example that knows a newcomer by its token. */
const NEWCOMER = /^.*token-of-newcomer.*$/m;
const WAIT = { timeout: stretched(4000), interval: 200 };

let node: ChildProcess | undefined;
let edge: Edge | undefined;
afterEach(async () => {
  node?.kill("SIGKILL");
  await edge?.stop();
});

async function askAll(): Promise<void> {
  const asked = AGENTS.map(async ([agent, status]) => {
    const response = await edge!.ask(PATHS.L3, agent);
    await response.arrayBuffer();
    const seen = [agent, response.status, response.headers.get("x-trust-degraded")];
    expect(seen).toEqual([agent, status, null]);
  });
  await Promise.all(asked);
}

const programs: Program[] = ["nginx", "caddy", "haproxy"];
describe.each(programs)("%s", (program) => {
  it("asks the other node when one is killed", needs(program), async () => {
    node = spawn(process.execPath, ["-e", NODE], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const [port] = (await once(node, "message")) as [number];
    edge = await openEdge(program, (example) => {
      const changed = example.replaceAll(FIRST, `127.0.0.1:${port}`);
      expect(changed).not.toBe(example);
      return changed.replace(NEWCOMER, (line) =>
        STRANGERS.map(([name]) => line.replaceAll("newcomer", name)).join("\n"),
      );
    });
    const ready = once(node, "message");
    node.send(edge.nodes[0]!.port);
    await ready;
    // Both are asked, as agents are divided between them, once HAProxy has looked at the first again: it
    // was refused there before the port was told.
    await vi.waitFor(async () => {
      const before = edge!.nodes.map(({ count }) => count);
      await askAll();
      expect(edge!.nodes.every(({ count }, at) => count > before[at]!)).toBe(true);
    }, WAIT);
    const before = edge.nodes[0]!.count;
    const killed = once(node, "exit");
    const during = askAll();
    node.kill("SIGKILL");
    await during;
    await killed;
    for (let at = 0; at < 5; at += 1) await askAll();
    // What came before it was dead, and who looks after it.
    expect(edge.nodes[0]!.count - before).toBeLessThan(2 * AGENTS.length);
  });
});

// Leases over a real server: one holder at a time, a token that grows, and none for a process that stood still
// for longer than a lease lasts.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LEASE_MS } from "../../src/stream/nats-lease.ts";
import { type Servers, startServers } from "./_nats.ts";
import { needs } from "../_needs.ts";

describe("a lease", needs("nats-server"), () => {
  let servers: Servers;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await servers?.stop();
  });

  /** Another process that takes a lease, and the last line it wrote. */
  function hold(job: string) {
    const file = fileURLToPath(new URL("./_lease-child.ts", import.meta.url));
    const [address] = servers.addresses;
    const child = spawn(
      "setpriv",
      ["--pdeathsig", "KILL", "--", process.execPath, file, address!, "leases", job],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    children.push(child);
    const lines: string[] = [];
    createInterface(child.stdout).on("line", (line) => lines.push(line));
    return { child, lines };
  }

  test("has one holder, and the next one a higher token", async () => {
    const [one, two] = [await servers.open({ name: "own" }), await servers.open({ name: "own" })];
    const first = await one.acquireLease("work");
    expect(first!.isHeld).toBe(true);
    expect(await two.acquireLease("work")).toBeUndefined();
    expect(await one.acquireLease("work")).toBeUndefined();
    const other = await two.acquireLease("other");
    expect(other!.isHeld).toBe(true);
    await first!.release();
    expect(first!.isHeld).toBe(false);
    const second = await two.acquireLease("work");
    expect(second!.token).toBeGreaterThan(first!.token);
    // Releasing what is lost takes nothing from the holder.
    await first!.release();
    expect(await one.acquireLease("work")).toBeUndefined();
    await Promise.all([second!.release(), other!.release()]);
  });

  test("is renewed, and lost by a holder that stood still", async () => {
    const log = await servers.open({ name: "leases" });
    const paused = hold("paused");
    const renewed = hold("renewed");
    await expect.poll(() => paused.lines[0]).toMatch(/^token \d+$/);
    await expect.poll(() => renewed.lines[0]).toMatch(/^token \d+$/);
    paused.child.kill("SIGSTOP");
    const stoppedMs = performance.now();
    let taken = await log.acquireLease("paused");
    expect(taken).toBeUndefined();
    await expect
      .poll(async () => (taken ??= await log.acquireLease("paused"))?.isHeld, { interval: 500 })
      .toBe(true);
    // Its last renewal was at most a third of the time before it stood still.
    expect(performance.now() - stoppedMs).toBeGreaterThan((LEASE_MS * 2) / 3 - 1000);
    const { length } = paused.lines;
    paused.child.kill("SIGCONT");
    await expect.poll(() => paused.lines.length).toBeGreaterThan(length + 3);
    // It never says again that it holds what another has.
    expect(new Set(paused.lines.slice(length + 1))).toEqual(new Set(["false"]));
    expect(taken!.token).toBeGreaterThan(Number(paused.lines[0]!.slice(6)));
    // The other one has lived through as long a time by renewals.
    expect(await log.acquireLease("renewed")).toBeUndefined();
    expect(renewed.lines.at(-1)).toBe("true");
    renewed.child.kill("SIGKILL");
    await once(renewed.child, "exit");
  });
});

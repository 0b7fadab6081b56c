// The demo as a stranger runs it: by npm, whole and interrupted, against the real service. It shows a held payment and
// a verdict that moves, ends by itself and leaves neither files nor processes.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT } from "./_sample-service.ts";

const folder = mkdtempSync(path.join(tmpdir(), "demo-test-"));
const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function startDemo(...flags: string[]) {
  const child = spawn("npm", ["run", "-s", "demo", ...flags], {
    cwd: ROOT,
    env: {
      PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`,
      TMPDIR: folder,
      // Of another service: it must not reach this one.
      TRUSTRANK_ADMIN_KEY: "short",
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, as of a terminal: Ctrl-C reaches all of it.
    detached: true,
  });
  started.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (piece) => (text += String(piece)));
  }
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, ended, text: () => text };
}

async function expectNothingLeft(text: string): Promise<void> {
  expect(readdirSync(folder).filter((name) => name.startsWith("trustrank-"))).toEqual([]);
  const url = /TrustRank at (\S+):/.exec(text)![1]!;
  await expect(fetch(`${url}/livez`)).rejects.toThrow("fetch failed");
}

it("shows a held payment, a verdict that moves and a review, and leaves nothing", async () => {
  const demo = startDemo("--", "--fast");
  expect(await demo.ended, demo.text()).toBe(0);
  const text = demo.text();
  expect(text).toMatch(/POST 250 by agent:\/\/acme\/ledger-sync: 200, passed\n.*application: 1\n/);
  expect(text).toMatch(/agent:\/\/globex\/price-scout: 403, held: CHALLENGE \(RISK_ABOVE_BOUND\)/);
  expect(text).toMatch(/why: Settled outcomes put the agent's chance of failure at \d/);
  const number = (name: string) =>
    Number(new RegExp(`${name}: .* failure at most (\\S+) %`).exec(text)![1]);
  expect(number("after")).toBeGreaterThan(number("before"));
  expect(text).toMatch(/http:\/\/127\.0\.0\.1:\d+\/console#login=\S+\n/);
  expect(text).toContain("approved by the demo itself");
  expect(text).toMatch(/price-scout: 200, passed\n.*application: 2\n/);
  await expectNothingLeft(text);
});

it("leaves nothing when it is interrupted", async () => {
  const demo = startDemo();
  await expect.poll(demo.text).toMatch(/TrustRank at/);
  process.kill(-demo.child.pid!, "SIGINT");
  expect(await demo.ended, demo.text()).not.toBe(0);
  expect(demo.text()).toContain("Interrupted");
  await expectNothingLeft(demo.text());
});

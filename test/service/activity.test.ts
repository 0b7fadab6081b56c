// Unsettled stakes over the end of a process: the file that it leaves, and one that is damaged.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { HELD_FILE, openActivity } from "../../src/service/activity.ts";

const NOW_MS = Date.UTC(2026, 4, 1);
const STAKES = { tenant: "acme", agent: "agent://acme/buyer", requestId: "request-1", amount: 70 };
let folder: string;
let warnings: string[];
const log = {
  info: () => undefined,
  warn: (event: string) => void warnings.push(event),
  error: () => undefined,
};
const open = (nowMs = NOW_MS) => openActivity(folder, () => nowMs, log);

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "trustrank-activity-"));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function leaveStakes(): Promise<void> {
  const { activity, close } = open();
  activity.hold(STAKES, NOW_MS);
  activity.keep(STAKES, STAKES.amount, NOW_MS);
  await close();
}

it("are there after a restart, faded, and are settled once", async () => {
  await leaveStakes();
  const laterMs = NOW_MS + 7 * 86_400_000;
  const { activity, close } = open(laterMs);
  expect(activity.readUnsettled("acme", STAKES.agent, laterMs)).toBeCloseTo(70 / Math.E, 9);
  expect(activity.settle(STAKES, laterMs)).toBe(70);
  expect(activity.readUnsettled("acme", STAKES.agent, laterMs)).toBeCloseTo(0, 6);
  await close();
  const third = open(laterMs);
  expect(third.activity.settle(STAKES, laterMs)).toBe(0);
  await third.close();
});

it("count as none, with a line in the log, where the file is damaged", async () => {
  await leaveStakes();
  const file = path.join(folder, HELD_FILE);
  writeFileSync(file, readFileSync(file).subarray(0, -3));
  const { activity, close } = open();
  expect(activity.readUnsettled("acme", STAKES.agent, NOW_MS)).toBe(0);
  expect(warnings).toEqual(["unsettled_stakes_damaged"]);
  await close();
});

it("make no file while nothing is held", async () => {
  await open().close();
  expect(() => readFileSync(path.join(folder, HELD_FILE))).toThrow(/ENOENT/);
});

// Backup and restore as an operator runs them: beside a service that takes outcomes, killed in the
// middle, onto a full disk, and back into a directory that a service starts on.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFileLocked } from "../../../src/platform/file-lock.ts";
import { fillUp, mountSmall, unmount } from "../_small-disk.ts";
import { endAll, runCommand, type Started, startCommand } from "../../cli/_process.ts";
import { needs } from "../../_needs.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-backup-"));
const [dataDir, backup, into] = ["data", "backup", "restored"].map((name) =>
  join(folder, name),
) as [string, string, string];
const source = ["--data-dir", dataDir];
const ADMIN_KEY = "test-admin-key-0123456789abcdefghijklmnopqrstuvwx";
const keyed = { TRUSTRANK_ADMIN_KEY: ADMIN_KEY };

let server: Started;
let url: string;
let isOver = false;
let accepted = 0;
let posting: Promise<void>;

beforeAll(async () => {
  server = startCommand(["serve", "--json", "--port", "0", "--no-sample", ...source], keyed);
  ({ url } = JSON.parse(await server.firstLine) as { url: string });
  posting = post();
});

afterAll(async () => {
  isOver = true;
  await posting.catch(() => undefined);
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

function ask(path: string, body: unknown): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** One outcome after the other, and a decision now and then. */
async function post(): Promise<void> {
  while (!isOver) {
    const subject = `agent://shop/seller-${accepted % 7}`;
    const outcome = { subject, reporter: "agent://shop/buyer", outcome: 1, stakes: 5 };
    const answer = await ask("/v1/outcomes", { ...outcome, grade: "counterparty" });
    if (answer.status === 201) accepted++;
    if (accepted % 20 === 0) await ask("/v1/check", { subject, stakes: 5 });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function backUp(...more: string[]): Promise<Record<string, unknown>> {
  const ended = await runCommand(["backup", backup, ...source, "--json", ...more]);
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  return JSON.parse(ended.stdout) as Record<string, unknown>;
}

const verified = () => backUp("--verify");

test("outcomes come in: each backup holds what was acknowledged before it began", async () => {
  await expect.poll(() => accepted).toBeGreaterThan(5);
  const before = accepted;
  const first = await backUp();
  expect(first["position"]).toBeGreaterThanOrEqual(before);
  expect(await verified()).toMatchObject({ ok: true, position: first["position"] });
  expect(statSync(backup).mode & 0o777).toBe(0o700);
  const secrets = readdirSync(join(backup, "objects"));
  for (const name of secrets) {
    expect(statSync(join(backup, "objects", name)).mode & 0o777).toBe(0o600);
  }
});

test("killed in the middle it leaves the former one in force", async () => {
  const { position } = await verified();
  const killed = startCommand(["backup", backup, ...source]);
  const lock = join(backup, "lock");
  await expect.poll(() => isFileLocked(lock), { interval: 1 }).toBe(true);
  killed.process.kill("SIGKILL");
  await killed.ended;
  const after = await verified();
  expect(after["ok"]).toBe(true);
  expect(after["position"]).toBeGreaterThanOrEqual(position as number);
  expect((await backUp())["position"]).toBeGreaterThan(position as number);
  expect(isFileLocked(lock)).toBe(false);
});

test("a full disk is named and keeps the former backup", needs("mount a tmpfs"), async () => {
  const disk = join(folder, "disk");
  mountSmall(disk, 1);
  try {
    const small = ["backup", join(disk, "b"), ...source];
    expect(await runCommand(small)).toMatchObject({ code: 0 });
    const manifest = readFileSync(join(disk, "b", "manifest.json"), "utf8");
    const before = accepted;
    await expect.poll(() => accepted).toBeGreaterThan(before + 10);
    fillUp(join(disk, "filler"), 8192);
    const ended = await runCommand(small);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/no room in .*\(ENOSPC\): the backup of .* is unchanged/);
    expect(readFileSync(join(disk, "b", "manifest.json"), "utf8")).toBe(manifest);
    expect(await runCommand([...small, "--verify"])).toMatchObject({ code: 0 });
  } finally {
    unmount(disk);
  }
});

test("restored: doctor is content, a service starts, and every view has the same rows", async () => {
  isOver = true;
  await posting;
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  const { position } = await backUp();
  const restored = await runCommand(["restore", backup, "--data-dir", into, "--json"]);
  expect(JSON.parse(restored.stdout)).toMatchObject({ position, backup_position: position });
  const doctor = await runCommand(["doctor", "--data-dir", into, "--json"]);
  expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: true });
  const again = startCommand(["serve", "--json", "--port", "0", "--data-dir", into], keyed);
  const facts = JSON.parse(await again.firstLine) as { url: string; replayed: number };
  ({ url } = facts);
  expect((await ask("/v1/check", { subject: "agent://shop/seller-1", stakes: 5 })).status).toBe(
    200,
  );
  again.process.kill("SIGTERM");
  expect((await again.ended).code).toBe(0);
  // Scores are read by the clock: of agents what does not fade.
  const standing = "SELECT agent, outcomes, reported, last_outcome_at FROM agents";
  for (const view of ["SELECT * FROM outcomes", "SELECT * FROM decisions", standing]) {
    const rows = await Promise.all([dataDir, into].map((root) => rowsOf(root, view)));
    expect([view, rows[0]]).not.toEqual([view, "[]"]);
    // The check above is one decision more.
    if (!view.endsWith("decisions")) expect([view, rows[1]]).toEqual([view, rows[0]]);
    else expect(JSON.parse(rows[1]!)).toEqual(expect.arrayContaining(JSON.parse(rows[0]!)));
  }
});

test("usage and refusals are sentences with exit codes", async () => {
  const again = await runCommand(["restore", backup, "--data-dir", into]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
  const usage = await runCommand(["restore", backup, "--until", "soon", "--data-dir", `${into}2`]);
  expect(usage.code).toBe(2);
  const object = readdirSync(join(backup, "objects"))[0]!;
  rmSync(join(backup, "objects", object));
  const damaged = await runCommand(["backup", backup, ...source, "--verify"]);
  expect([damaged.code, damaged.stdout]).toEqual([65, expect.stringContaining(object)]);
  const refused = await runCommand(["restore", backup, "--data-dir", `${into}3`]);
  expect([refused.code, refused.stderr]).toEqual([65, expect.stringContaining(object)]);
});

async function rowsOf(root: string, select: string): Promise<string> {
  const sql = `${select} ORDER BY ALL`;
  const ended = await runCommand(["query", "--data-dir", root, "--format", "json", sql]);
  expect(ended.code).toBe(0);
  return ended.stdout.trim();
}

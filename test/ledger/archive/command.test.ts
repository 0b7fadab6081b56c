// The archive as an operator has it: beside a service that takes outcomes, over a full disk and back,
// killed with SIGKILL and its data directory deleted, restored up to what was shipped last; and a target
// that hangs.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { requireManifest } from "../../../src/ledger/backup/manifest.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import { NOW_MS } from "../_fixtures.ts";
import { fillUp, mountSmall, unmount } from "../_small-disk.ts";
import { endAll, runCommand, type Started, startCommand } from "../../cli/_process.ts";
import { needs } from "../../_needs.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-archive-"));
const at = (name: string) => join(folder, name);
const disk = at("disk");
const [dataDir, archive] = [at("data"), join(disk, "archive")];
const ADMIN_KEY = "test-admin-key-0123456789abcdefghijklmnopqrstuvwx";
const authorization = `Bearer ${ADMIN_KEY}`;

let server: Started;
let url: string;
const DISK = needs("mount a tmpfs");
let accepted = 0;
let isOver = false;
let posting: Promise<void>;

beforeAll(async () => {
  if (!DISK.skip) mountSmall(disk, 4);
  const places = ["--data-dir", dataDir, "--archive", archive, "--archive-every", "1s"];
  const serve = ["serve", "--json", "--port", "0", "--no-sample", ...places];
  server = startCommand(serve, { TRUSTRANK_ADMIN_KEY: ADMIN_KEY });
  ({ url } = JSON.parse(await server.firstLine) as { url: string });
  posting = post().catch(() => undefined);
});

afterAll(async () => {
  isOver = true;
  await endAll();
  if (!DISK.skip) unmount(disk);
  rmSync(folder, { recursive: true, force: true });
});

/** One outcome after the other, until the service is gone. */
async function post(): Promise<void> {
  while (!isOver) {
    const subject = `agent://shop/seller-${accepted % 7}`;
    const outcome = { subject, reporter: "agent://shop/buyer", outcome: 1, stakes: 5 };
    const answer = await fetch(`${url}/v1/outcomes`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ ...outcome, grade: "counterparty" }),
    });
    if (answer.status === 201) accepted++;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function figure(name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
  return Number(new RegExp(`^trustrank_${name} (\\S+)$`, "m").exec(text)?.[1]);
}

const shipped = () => (existsSync(archive) ? requireManifest(diskFileLayer, archive).position : 0);
const patiently = { timeout: 30_000, interval: 100 };

test("what was acknowledged is in the archive within its interval, and it verifies", async () => {
  await expect.poll(() => accepted, patiently).toBeGreaterThan(20);
  const before = accepted;
  await expect.poll(shipped, patiently).toBeGreaterThanOrEqual(before);
  const verified = await runCommand(["backup", archive, "--verify"]);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringMatching(/^ok /)]);
  const backup = await runCommand(["backup", archive, "--data-dir", dataDir]);
  expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining("is the archive of")]);
});

test(
  "a full disk is counted and told, the service goes on, and with room the archive",
  DISK,
  async () => {
    fillUp(join(disk, "filler"), 0);
    await expect.poll(() => figure("archive_failures_total"), patiently).toBeGreaterThan(1);
    const before = accepted;
    await expect.poll(() => accepted, patiently).toBeGreaterThan(before + 20);
    expect(await figure("archive_lag_records")).toBeGreaterThan(0);
    const ready = await fetch(`${url}/readyz`, { headers: { authorization } });
    expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining("ENOSPC")]);
    expect((await runCommand(["backup", archive, "--verify"])).code).toBe(0);
    rmSync(join(disk, "filler"));
    const behind = accepted;
    await expect.poll(shipped, patiently).toBeGreaterThanOrEqual(behind);
    // The manifest is there before the keeper has heard of it, and says so.
    const told = async () => (await fetch(`${url}/readyz`, { headers: { authorization } })).text();
    await expect.poll(told, patiently).not.toContain("ENOSPC");
  },
);

test("killed and its disk lost: everything up to the last shipment is back, the same table", async () => {
  const before = accepted;
  await expect.poll(shipped, patiently).toBeGreaterThanOrEqual(before);
  server.process.kill("SIGKILL");
  const { stderr } = await server.ended;
  await posting;
  if (!DISK.skip) {
    for (const event of ["archive_failed", "archive_recovered"]) {
      expect([event, stderr.split(`"${event}"`).length - 1]).toEqual([event, 1]);
    }
  }
  cpSync(dataDir, at("lost"), { recursive: true });
  rmSync(dataDir, { recursive: true });
  const restored = await runCommand(["restore", archive, "--data-dir", at("new"), "--json"]);
  const facts = JSON.parse(restored.stdout) as { position: number; ends_at: string };
  expect(facts.position).toBeGreaterThanOrEqual(before);
  expect((await runCommand(["doctor", "--data-dir", at("new")])).code).toBe(0);
  const until = ["--until", String(facts.position)];
  await runCommand(["backup", at("backup"), "--data-dir", at("lost")]);
  await runCommand(["restore", at("backup"), "--data-dir", at("then"), ...until]);
  const tables = [await tableOf(at("new")), await tableOf(at("then"))];
  expect(tables[0]!.equals(tables[1]!)).toBe(true);
  const earlier = ["restore", archive, "--data-dir", at("earlier"), "--until", "10", "--json"];
  expect(JSON.parse((await runCommand(earlier)).stdout)).toMatchObject({ position: 10 });
});

test("list and prune work on it, and refuse what is none", async () => {
  const list = await runCommand(["archive", "list", archive, "--json"]);
  expect(JSON.parse(list.stdout)).toEqual([
    expect.objectContaining({ name: null, is_parted: false }),
  ]);
  const prune = await runCommand(["archive", "prune", archive, "--keep", "30d", "--json"]);
  expect(JSON.parse(prune.stdout)).toMatchObject({ states: [] });
  expect((await runCommand(["archive", "prune", archive, "--keep", "soon"])).code).toBe(2);
  const none = await runCommand(["archive", "list", folder]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("holds no backup")]);
  const unknown = ["restore", archive, "--data-dir", at("x"), "--state", "daily-2001-01-01"];
  expect((await runCommand(unknown)).code).toBe(1);
});

test("a target that hangs holds up neither outcomes nor the end", async () => {
  const hung = at("hung");
  mkdirSync(hung);
  // Nobody ever writes into it: whoever opens it waits in the kernel.
  execFileSync("mkfifo", [join(hung, "archive.json")]);
  const places = ["--data-dir", at("beside"), "--archive", hung];
  const serve = ["serve", "--json", "--port", "0", "--no-sample", ...places];
  const other = startCommand(serve, { TRUSTRANK_ADMIN_KEY: ADMIN_KEY });
  ({ url } = JSON.parse(await other.firstLine) as { url: string });
  const before = accepted;
  isOver = false;
  const more = post().catch(() => undefined);
  await expect.poll(() => accepted, patiently).toBeGreaterThan(before + 5);
  isOver = true;
  await more;
  other.process.kill("SIGTERM");
  const { signal, stderr } = await other.ended;
  // It ends itself: an orderly exit would wait for the call.
  expect([signal, stderr]).toEqual(["SIGKILL", expect.stringContaining("does not come back")]);
  const doctor = await runCommand(["doctor", "--data-dir", at("beside"), "--json"]);
  expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: true });
  expect(diskFileLayer.list(at("beside"))).not.toContain("owner.json");
});

async function tableOf(root: string): Promise<Buffer> {
  const memory = createEngineMemory();
  const ledger = await startLedger({
    dataDir: root,
    engineMemory: memory,
    onFatal: () => undefined,
    clock: () => NOW_MS,
  });
  await ledger.close();
  return Buffer.concat(openTableImage(memory).viewParts());
}

// Usage under kill -9, in the whole service on several HTTP threads: what the clients counted against
// what is billed afterwards. At most the last second is missing, and nothing is billed twice.
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { stretched } from "../_patience.ts";
import { endAll, runCommand } from "../cli/_process.ts";
import { type CrashServer, startServer } from "./server.ts";

const CLIENTS = 8;
const LOAD_MS = 2500;
/** The second that may be lost, and what the clients' own clocks and the kill add. */
const LOST_MS_MAX = stretched(1000) + 250;

const root = mkdtempSync(join(tmpdir(), "usage-crash-"));
const dataDir = join(root, "data");
afterAll(async () => {
  await endAll();
  rmSync(root, { recursive: true, force: true });
});

const serve = (directory: string) =>
  startServer(directory, { environment: { TRUSTRANK_HTTP_THREADS: "2" } });

interface Counts {
  readonly paid: number;
  readonly free: number;
}

async function billed(server: CrashServer): Promise<Counts> {
  const { body } = await server.get("/v1/usage?group_by=tenant");
  const [row] = (body as { rows: { paid_reads: number; test_reads: number }[] }).rows;
  return { paid: row?.paid_reads ?? 0, free: row?.test_reads ?? 0 };
}

/** Reads until the server dies. Times of the paid answers, and how many were free. */
async function load(server: CrashServer) {
  const answeredMs: number[] = [];
  let [sent, free] = [0, 0];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const isFree = sent % 10 === 9;
      const subject = isFree ? "agent://test/connect" : "agent://shop/buyer";
      sent++;
      try {
        const { status } = await server.post("/v1/check", JSON.stringify({ subject, stakes: 1 }));
        if (status !== 200) throw new Error(`answered ${status}`);
        if (isFree) free++;
        else answeredMs.push(performance.now());
      } catch (error) {
        if (!isOver) throw error;
      }
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
  isOver = true;
  const killedMs = performance.now();
  await server.kill();
  await clients;
  return { answeredMs, killedMs, free };
}

it("at most a second is lost at each kill, and nothing is billed twice", async () => {
  let server = await serve(dataDir);
  let before: Counts = { paid: 0, free: 0 };
  for (let round = 0; round < 3; round++) {
    const { answeredMs, killedMs, free } = await load(server);
    server = await serve(dataDir);
    const after = await billed(server);
    const paid = after.paid - before.paid;
    // Answers may have been on their way.
    expect(paid, "no more than was asked").toBeLessThanOrEqual(answeredMs.length + CLIENTS);
    expect(after.free - before.free).toBeLessThanOrEqual(free + CLIENTS);
    expect(answeredMs.length, "a load worth the name").toBeGreaterThan(100);
    // The oldest answer that is not billed.
    const lost = answeredMs.length - paid;
    if (lost > 0) {
      const oldest = answeredMs.toSorted((a, b) => a - b)[paid]!;
      expect(killedMs - oldest, `${lost} of ${answeredMs.length} lost`).toBeLessThan(LOST_MS_MAX);
    }
    expect(await billed(server), "asked again").toEqual(after);
    before = after;
  }
  await server.kill("SIGTERM");

  // A copy of the directory, served, has the same past and a meter of its own.
  const copyDir = join(root, "copy");
  cpSync(dataDir, copyDir, { recursive: true });
  const copy = await serve(copyDir);
  expect(await billed(copy)).toEqual(before);
  await copy.post("/v1/check", JSON.stringify({ subject: "agent://shop/buyer", stakes: 1 }));
  await copy.kill("SIGTERM");
  const usage = (directory: string, ...flags: string[]) =>
    runCommand(["usage", "--data-dir", directory, "--by", "tenant", ...flags]);
  const json = async (directory: string) => {
    const { stdout, stderr } = await usage(directory, "--json");
    const [row] = JSON.parse(stdout || `"${stderr}"`) as { paid_reads: number }[];
    return row?.paid_reads;
  };
  expect(await json(copyDir), "an orderly end loses nothing").toBe(before.paid + 1);
  expect(await json(dataDir)).toBe(before.paid);

  const csv = await usage(dataDir, "--format", "csv");
  expect(csv.stdout.split("\n")[1]).toMatch(new RegExp(`^operator,${before.paid},`));
  const parquet = await usage(dataDir, "--format", "parquet", "--out", join(root, "u.parquet"));
  expect(parquet.stderr).toContain("1 rows in");
  expect(readFileSync(join(root, "u.parquet")).subarray(0, 4).toString()).toBe("PAR1");
  const refused = await usage(dataDir, "--format", "parquet");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--out FILE")]);
  expect((await usage(dataDir, "--month", "2026-13")).code).toBe(2);
});

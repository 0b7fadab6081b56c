// A byte of a sealed segment flips while the server runs: who operates it hears of it everywhere he
// looks, the service goes on, and the file put back makes it good. Real processes, real files.
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { writeKeyFile } from "../../src/http/access/key-file.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { parseSegmentNames } from "../../src/journal/format.ts";
import { NOW_MS, openCore, recordOf, runOf } from "../ledger/_fixtures.ts";
import { Connection } from "./http/_service.ts";
import { endAll, runCommand, startCommand } from "../cli/_process.ts";

const ADMIN_KEY = "rot-suite-admin-key-0123456789abcdefghijklmn";
const PATIENT = { interval: 200 };
/** 1.8 seconds between two looks. */
const OFTEN = "0.0005";

const dataDir = mkdtempSync(join(tmpdir(), "trustrank-rot-"));
const { journal, bureauKey } = resolveDataPaths(dataDir);

afterAll(async () => {
  await endAll();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Small segments, so that some are sealed. */
function writeSegments(): string[] {
  const { core } = openCore(journal, loadBureauKey(bureauKey), { segmentBytesMax: 5000 });
  for (let index = 1; index <= 60; index++) core.commit([runOf([recordOf(index)])], NOW_MS);
  core.close();
  return parseSegmentNames(readdirSync(journal)).map(({ name }) => name);
}

/** As a whole: no look finds half a file. */
function replace(name: string, bytes: Buffer): void {
  writeFileSync(join(dataDir, "other"), bytes);
  renameSync(join(dataDir, "other"), join(journal, name));
}

it("rot under a running server is told, counted, on record, and over when mended", async () => {
  const names = writeSegments();
  await writeKeyFile(dataDir, []);
  const rotten = names[1]!;
  const intact = readFileSync(join(journal, rotten));
  const started = startCommand(
    ["serve", "--port", "0", "--json", "--no-sample", "--data-dir", dataDir],
    {
      TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
      TRUSTRANK_SCRUB_HOURS: OFTEN,
    },
  );
  let told = "";
  started.process.stderr!.on("data", (piece) => (told += piece));
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  const connection = new Connection(url);
  const ask = (path: string, body?: unknown) =>
    connection.ask(path, { key: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
  const gauge = async (name: string) =>
    new RegExp(`^trustrank_${name} (\\S+)$`, "m").exec((await ask("/metrics")).text)?.[1];
  const events = async () => {
    const sql = `SELECT event, detail->>'segment' AS segment FROM audit_events
      WHERE event LIKE 'journal.%' ORDER BY position`;
    return (await ask("/v1/query", { sql })).json.rows as unknown[][];
  };
  await expect.poll(() => gauge("journal_verified_timestamp_seconds"), PATIENT).toBeDefined();
  // Or the store would find the rot itself, and could not go on to the record of it.
  const position = await gauge("journal_position");
  await expect.poll(() => gauge("store_position"), PATIENT).toBe(position);
  // The journal is older than a day, so the clock is in doubt for a while: that is another warning.
  const ofJournal = async () => {
    const { status, json } = await ask("/readyz");
    expect([status, json.ready, json.reasons]).toEqual([200, true, []]);
    const warnings = (json.warnings ?? []) as string[];
    return warnings.filter((warning) => !warning.startsWith("the clock"));
  };
  expect(await ofJournal()).toEqual([]);
  expect(await gauge("journal_damages")).toBe("0");

  const spoilt = Buffer.from(intact);
  spoilt[1000]! ^= 8;
  replace(rotten, spoilt);
  await expect.poll(() => gauge("journal_damages"), PATIENT).toBe("1");
  const warnings = await ofJournal();
  expect(warnings).toEqual([expect.stringContaining(rotten)]);
  expect(warnings[0]).toMatch(/put the file back from a backup.*doctor --repair/);
  await expect.poll(events, PATIENT).toEqual([["journal.damaged", rotten]]);
  const lines = told.split("\n").filter((line) => line.includes("journal_damaged"));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: "error", message: "journal_damaged" });
  // Scores and outcomes need none of it.
  const body = { subject: "agent://a/x", stakes: 5 };
  expect((await ask("/v1/check", body)).status).toBe(200);
  const outcome = { ...body, reporter: "agent://b/y", outcome: 1, grade: "counterparty" };
  expect((await ask("/v1/outcomes", outcome)).status).toBe(201);
  const doctor = await runCommand(["doctor", "--data-dir", dataDir]);
  expect(doctor.code).toBe(65);
  expect(doctor.stdout).toMatch(new RegExp(`WRONG +journal: .*${rotten}[^]*from a backup`));

  replace(rotten, intact);
  await expect.poll(() => gauge("journal_damages"), PATIENT).toBe("0");
  expect(await ofJournal()).toEqual([]);
  const both = [
    ["journal.damaged", rotten],
    ["journal.mended", rotten],
  ];
  await expect.poll(events, PATIENT).toEqual(both);
  expect((await runCommand(["doctor", "--data-dir", dataDir])).code).toBe(0);
  connection.close();
  started.process.kill("SIGTERM");
  expect((await started.ended).code).toBe(0);
});

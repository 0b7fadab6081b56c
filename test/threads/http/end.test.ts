// Shutdown of a service with two HTTP threads: in order on SIGTERM under load, and loudly, but with
// nothing lost, when one of its threads fails.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, it } from "vitest";

import { Connection, connectToBoth, requestsByThread, startThreads } from "./_service.ts";
import { endAll } from "../../cli/_process.ts";
import { stretched } from "../../_patience.ts";
import { needs } from "../../_needs.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-threads-end-"));
const SUBJECT = "agent://threads-end/reported";
const EXIT_MS_MAX = 10_000;
/** Answered, told to come back, or met a closed socket before the server read it. */
const ALLOWED: ReadonlySet<number | string> = new Set([
  200,
  201,
  503,
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
]);

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Connections that read and report until they are cut off; counts by status or error code. */
function load(url: string, connections: number) {
  const statuses = new Map<number | string, number>();
  const client = async (number: number): Promise<void> => {
    const connection = new Connection(url);
    for (let n = 0; ; n++) {
      const outcome = {
        subject: SUBJECT,
        reporter: `agent://threads-end/reporter-${number}`,
        outcome: 1,
        stakes: 20,
        grade: "escrow",
        id: `end-${number}-${n}`,
      };
      const asked =
        n % 3 === 0
          ? connection.ask("/v1/outcomes", { body: outcome })
          : connection.ask("/v1/check", { body: { subject: SUBJECT, stakes: 5 } });
      const status = await asked.then(
        (answer) => answer.status,
        (error: Error & { code?: string }) => error.code ?? error.message,
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (typeof status === "string") return;
    }
  };
  const over = Promise.all(Array.from({ length: connections }, (_, number) => client(number)));
  return { statuses, over };
}

async function reportedAfterRestart(dataDir: string): Promise<number> {
  const again = await startThreads(dataDir);
  const connection = new Connection(again.url);
  const { json } = await connection.ask(`/v1/agents/${encodeURIComponent(SUBJECT)}`);
  connection.close();
  again.started.process.kill("SIGTERM");
  expect((await again.started.ended).code).toBe(0);
  return json.evidence.outcomes;
}

it("SIGTERM under load: both threads answer what they accepted, exit 0", async () => {
  const dataDir = join(folder, "drained");
  const { started, url } = await startThreads(dataDir);
  const both = await connectToBoth(url);
  const { statuses, over } = load(url, 24);
  await expect
    .poll(async () => Math.min(...(await requestsByThread(both[0]))))
    .toBeGreaterThan(200);
  const signalledAt = performance.now();
  started.process.kill("SIGTERM");
  const { code, signal, stderr } = await started.ended;
  await over;
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(performance.now() - signalledAt).toBeLessThan(stretched(EXIT_MS_MAX));
  for (const status of statuses.keys()) expect(ALLOWED, String(status)).toContain(status);
  expect(stderr).not.toContain("http_thread_");
  const acknowledged = statuses.get(201) ?? 0;
  expect(acknowledged).toBeGreaterThan(0);
  expect(await reportedAfterRestart(dataDir)).toBeGreaterThanOrEqual(acknowledged);
});

it("a thread that throws brings the service down in order, with an exit code", async () => {
  const dataDir = join(folder, "broken");
  const planted = join(folder, "planted");
  const { started, url } = await startThreads(dataDir, {
    PLANTED_FAULT: planted,
    NODE_OPTIONS: `--import ${new URL("./_planted-fault.ts", import.meta.url).href}`,
  });
  const { statuses, over } = load(url, 8);
  await expect.poll(() => statuses.get(201) ?? 0).toBeGreaterThan(50);
  writeFileSync(planted, "");
  const { code, signal, stderr } = await started.ended;
  await over;
  expect({ code, signal }).toEqual({ code: 1, signal: null });
  expect(stderr).toContain("an HTTP thread has failed");
  expect(stderr).toContain("a planted fault");
  for (const status of statuses.keys()) expect(ALLOWED, String(status)).toContain(status);
  const acknowledged = statuses.get(201) ?? 0;
  expect(await reportedAfterRestart(dataDir)).toBeGreaterThanOrEqual(acknowledged);
});

const TRACED = needs("strace", "trace processes");

it("a sync that fails is refused at every thread, then 70", TRACED, async () => {
  const dataDir = join(folder, "failing");
  // A start and an end, so that there is a segment to name.
  const first = await startThreads(dataDir);
  first.started.process.kill("SIGTERM");
  await first.started.ended;
  const journal = join(dataDir, "journal");
  const segment = readdirSync(journal).find((name) => name.endsWith(".log"))!;
  const fault = ["-P", join(journal, segment), "-e", "inject=fdatasync:error=EIO:when=1+"];
  const trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", ...fault];
  const { started, url } = await startThreads(dataDir, {}, trace);
  const both = await connectToBoth(url);
  const refused = await Promise.all(
    both.map((connection, index) => {
      const agents = { subject: SUBJECT, reporter: `agent://threads-end/failing-${index}` };
      const body = { ...agents, outcome: 1, stakes: 5, grade: "escrow" };
      return connection.ask("/v1/outcomes", { body });
    }),
  );
  expect(refused.map((answer) => answer.json.code)).toEqual([
    "journal_unavailable",
    "journal_unavailable",
  ]);
  expect(await started.ended).toMatchObject({ code: 70, signal: null });
});

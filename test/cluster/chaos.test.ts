// Chaos of a cluster in its short form: real servers of the ordered log and real nodes, every fault once, in an
// order that is always the same. `npm run cluster:chaos` has others.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { needs } from "../_needs.ts";

const run = promisify(execFile);
const COMMAND = ["--disable-warning=ExperimentalWarning", "test/cluster/chaos.ts"];
/** Three times what it takes on two cores at a load of 10. */
const RUN_MS_MAX = 900_000;

async function chaos(...flags: string[]) {
  const options = { timeout: RUN_MS_MAX };
  const ended = await run(process.execPath, [...COMMAND, ...flags], options).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  const last = ended.stdout.trimEnd().split("\n").at(-1)!;
  if (!last.startsWith("{")) throw new Error(ended.stderr);
  return JSON.parse(last) as Record<string, number> & {
    reads: { failed: number; shown: string[] };
    slowest: object;
    played: object;
    wrong_shown: string[];
  };
}

describe("a cluster under faults", needs("nats-server", "ip", "nsenter"), () => {
  test("loses nothing and stays one, whatever befalls it", { timeout: RUN_MS_MAX }, async () => {
    const report = await chaos("--once", "--seed", "84");
    // Acknowledgements over 15 s are the tool's to judge: beside other tests a machine may be slow.
    const { lost, identical, wrong_shown: wrong, slowest, played } = report;
    expect(
      { lost, identical, wrong },
      JSON.stringify({ lost, identical, wrong, slowest, played }),
    ).toEqual({ lost: 0, identical: true, wrong: [] });
    expect(report.reads.shown).toEqual([]);
    expect(report["acked"]).toBeGreaterThan(500);
    expect(report["duplicates"]).toBeGreaterThan(50);
    expect(report["faults"]).toBeGreaterThan(1);
  });
});

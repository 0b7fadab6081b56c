// A further node joins a cluster that records, in its short form. `npm run cluster:join` has the figures.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { needs } from "../_needs.ts";

const run = promisify(execFile);
const COMMAND = ["--disable-warning=ExperimentalWarning", "test/cluster/join.ts"];
/** Three times what it takes on two cores at a load of 10. */
const RUN_MS_MAX = 900_000;

describe("a node that joins", needs("nats-server", "ip", "nsenter"), () => {
  test("ends up the same, from the log and over a copy", { timeout: RUN_MS_MAX }, async () => {
    const flags = ["--rows", "4000", "--seconds", "1"];
    const options = { timeout: RUN_MS_MAX };
    // It ends with 1 when something was wrong, and says what on its last line all the same.
    const { stdout } = await run(process.execPath, [...COMMAND, ...flags], options).catch(
      (error: { stdout: string }) => error,
    );
    const report = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as Report;
    expect(report).toMatchObject({ lost: 0, wrong_shown: [], identical: true });
    expect(report.joins.map(({ how }) => how)).toEqual(["log", "copy"]);
    for (const { records } of report.joins) expect(records).toBeGreaterThan(4000);
    expect(report.acked).toBeGreaterThan(100);
  });
});

interface Report {
  readonly acked: number;
  readonly joins: readonly { readonly how: string; readonly records: number }[];
}

// Revocations in a cluster in their short form: refused on all nodes, and on one that is cut off in the time that is
// promised. `npm run cluster:revoke` has the figures.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { needs } from "../_needs.ts";

const run = promisify(execFile);
const COMMAND = ["--disable-warning=ExperimentalWarning", "test/cluster/revoke.ts"];
/** Three times what it takes on two cores at a load of 10. */
const RUN_MS_MAX = 900_000;

describe("a revoked key in a cluster", needs("nats-server", "ip", "nsenter"), () => {
  test("is refused on every node", { timeout: RUN_MS_MAX }, async () => {
    const flags = ["--keys", "6", "--refuse-sec", "3", "--no-load"];
    const options = { timeout: RUN_MS_MAX };
    const { stdout } = await run(process.execPath, [...COMMAND, ...flags], options);
    const report = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as Report;
    expect(report).toMatchObject({ keys: 6, is_kept: true, connected: { own_after_answer: 0 } });
    expect(report.connected.asks).toBeGreaterThan(36);
    // Without namespaces of its own it cuts no cable. Cut off, a node believes what it cannot know better.
    if (report.cut_off !== null) {
      expect(report.cut_off.score_ms).toBeGreaterThan(report.cut_off.last_ms);
    }
  });
});

interface Report {
  readonly connected: { readonly asks: number };
  readonly cut_off: { readonly last_ms: number; readonly score_ms: number } | null;
}

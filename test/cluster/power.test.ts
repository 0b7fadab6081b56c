// A cut of the whole cluster's power in its short form: what was acknowledged is on the disks. `npm run cluster:power`
// has longer ones.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { needs, skipFor } from "../_needs.ts";

const run = promisify(execFile);
const COMMAND = ["--disable-warning=ExperimentalWarning", "test/cluster/power.ts"];
/** Three times what it takes on two cores at a load of 10. */
const RUN_MS_MAX = 900_000;
/** Exit status where no loop devices, or no namespaces, are permitted. */
const NOT_HERE = 3;

describe(
  "a cluster without power",
  needs("nats-server", "ip", "nsenter", "losetup", "mkfs.ext4"),
  () => {
    test("has lost nothing that it acknowledged", { timeout: RUN_MS_MAX }, async (context) => {
      const flags = ["--cuts", "1", "--seconds", "2", "--seed", "7"];
      const options = { timeout: RUN_MS_MAX };
      const ended = await run(process.execPath, [...COMMAND, ...flags], options).catch(
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
      if ("code" in ended && ended.code === NOT_HERE) {
        skipFor(context, ended.stderr);
        return;
      }
      const last = ended.stdout.trimEnd().split("\n").at(-1)!;
      if (!last.startsWith("{")) throw new Error(ended.stderr);
      const report = JSON.parse(last) as { acked: number; log: [number, number][] };
      expect(report).toMatchObject({ lost: 0, wrong_shown: [], identical: true, cuts: 1 });
      expect(report.acked).toBeGreaterThan(100);
      expect(report.log[0]![1]).toBeGreaterThanOrEqual(report.log[0]![0]);
    });
  },
);

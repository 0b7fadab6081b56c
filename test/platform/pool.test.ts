// The pool in a process as an operator starts it: flags that Node refuses to give to a thread, and an
// end right after the start.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("./_pool-process.ts", import.meta.url));

it("works under flags of the whole process, and may be closed while its threads load", async () => {
  const flags = ["--use-largepages=silent", "--max-old-space-size=1024"];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    "--disable-warning=ExperimentalWarning",
    SCRIPT,
  ]);
  expect(stdout.trim().split("\n")).toEqual(["answered", "closed"]);
});

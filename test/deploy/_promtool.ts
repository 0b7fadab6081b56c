// promtool of the Debian package prometheus, with which alerts and metrics are checked where it is
// installed.
import { spawnSync } from "node:child_process";

/** Runs it with `input`; what it prints, on either stream. */
export function promtool(args: readonly string[], input = ""): { status: number; output: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { input, encoding: "utf8" });
  return { status: status ?? 1, output: stdout + stderr };
}

// Requirements of a test beside Node: programs of .ci/programs.txt, and rights that containers often deny.
// A test that lacks one is skipped, and test/_skip-reporter.ts ends the run with what was skipped and what to install.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** Programs that this test needs, the machine lacks and Debian has. */
    missing?: readonly string[];
    /** Why the test cannot run here although every program is installed. */
    skipReason?: string;
  }
}

const ROOT = join(import.meta.dirname, "..");
/** Debian keeps some servers where only root's search path leads. */
const PATH = `${process.env["PATH"]}:/usr/sbin:/sbin`;

/** A line of .ci/programs.txt. */
export interface Program {
  readonly name: string;
  /** Debian package, or a script of this repository below `.ci/`; undefined where Debian has neither. */
  readonly from: string | undefined;
  /** Shell command that succeeds where the program can be used. */
  readonly proof: string;
}

/** Rights that a machine may deny, each with the shell command that proves it. */
const RIGHTS = {
  "mount a tmpfs": 'at=$(mktemp -d) && mount -t tmpfs none "$at" && umount "$at"',
  "make mount namespaces": "unshare --mount sh -c 'mount -t tmpfs none /mnt'",
  "make process and network namespaces":
    "unshare --pid --net --uts --fork --mount-proc sh -c 'echo a >/proc/sys/kernel/hostname'",
  "trace processes": "strace -qq -o /dev/null true",
} as const;
export type Right = keyof typeof RIGHTS;

/** Every line of .ci/programs.txt, by name. */
export function readPrograms(): ReadonlyMap<string, Program> {
  const lines = readFileSync(join(ROOT, ".ci/programs.txt"), "utf8").split("\n");
  const programs = lines.flatMap((line): Program[] => {
    const [, name, from, proof] = /^(\S+)\s+(\S+)\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || name.startsWith("#")) return [];
    return [{ name, from: from === "-" ? undefined : from, proof: proof || `command -v ${name}` }];
  });
  return new Map(programs.map((program) => [program.name, program]));
}

const programs = readPrograms();
const succeeded = new Map<string, boolean>();

/** Whether the shell command succeeds; asked once a process. */
function succeeds(command: string): boolean {
  let result = succeeded.get(command);
  if (result === undefined) {
    const options = { cwd: ROOT, stdio: "ignore", env: { ...process.env, PATH } } as const;
    result = spawnSync("sh", ["-c", command], options).status === 0;
    succeeded.set(command, result);
  }
  return result;
}

/** Options of a test, or of a suite for all of its tests. */
export interface Requirements {
  readonly skip: boolean;
  readonly meta: { readonly missing?: readonly string[]; readonly skipReason?: string };
}

/**
 * Options of a test or a suite that needs all of these programs and rights: `describe(name, needs("nginx"), ...)`.
 * @throws Error for a name that is neither in .ci/programs.txt nor a right.
 */
export function needs(...names: readonly string[]): Requirements {
  const missing: string[] = [];
  const reasons: string[] = [];
  for (const name of names) {
    const program = programs.get(name);
    const proof = program?.proof ?? RIGHTS[name as Right];
    if (proof === undefined) throw new Error(`\`${name}\` is not in .ci/programs.txt`);
    if (succeeds(proof)) continue;
    if (program?.from !== undefined) missing.push(name);
    else reasons.push(program ? `${name} is not in Debian` : `this machine denies: ${name}`);
  }
  if (missing.length > 0) return { skip: true, meta: { missing } };
  return needsThat(reasons.length === 0, reasons.join(", "));
}

/** Options of a test or a suite that runs only where `isSo`; `reason` says why it does not elsewhere. */
export function needsThat(isSo: boolean, reason: string): Requirements {
  return isSo ? { skip: false, meta: {} } : { skip: true, meta: { skipReason: reason } };
}

/** Skips the running test, which found out by itself that it cannot run on this machine. */
export function skipFor(context: TestContext, reason: string): void {
  context.task.meta.skipReason = reason.trim();
  context.skip(reason);
}

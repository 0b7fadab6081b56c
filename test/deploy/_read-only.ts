// The command as an image or a unit runs it: as a user without rights, on a root that nobody can write,
// with one directory of its own. Mount namespaces take the place of the container engine.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { needs } from "../_needs.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Of the image. */
export const UID = 10_001;

/** What a suite needs that opens one. */
export const SANDBOX = needs("unshare", "setpriv", "mount", "make mount namespaces");

/** What is mounted where the image has it. */
export interface Place {
  /** Directory of the command, as the image calls it. */
  readonly command: string;
  /** The data directory. */
  readonly data: string;
  /** What lies in the command's directory, and its packages; else what the tests have built. */
  readonly from?: { readonly command: string; readonly modules: string };
}

export interface Sandbox {
  /** The data directory from outside. */
  readonly dataDir: string;
  /** Runs a program inside. */
  start(argv: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess;
  remove(): void;
}

/** Makes a root as the image has it: `place` over this machine's own files, all of it read-only. */
export function openSandbox(place: Place): Sandbox {
  const folder = mkdtempSync("/var/tmp/trustrank-deploy-");
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  mkdirSync(dataDir);
  chownSync(dataDir, UID, UID);
  const modules = join(place.command, "node_modules");
  const from = place.from ?? {
    command: join(ROOT, "build/test-command"),
    modules: join(ROOT, "node_modules"),
  };
  // A mount point that this machine does not have is made in memory, which hides what is beside it.
  const script = `set -e
    mount --make-rprivate /
    for at in "${place.command}" "${place.data}"; do
      [ -d "$at" ] || { mount -t tmpfs none "$(dirname "$at")"; mkdir "$at"; }
    done
    mount -t tmpfs none "${place.command}"
    cp -r "${from.command}/." "${place.command}"
    mkdir -p "${modules}"
    mount --bind "${from.modules}" "${modules}"
    touch "${place.command}/node"
    mount --bind "${process.execPath}" "${place.command}/node"
    mount --bind "${dataDir}" "${place.data}"
    mount -t tmpfs none /tmp
    mount -o remount,bind,ro "${place.command}"
    mount -o remount,bind,ro /
    exec setpriv --reuid ${UID} --regid ${UID} --clear-groups --no-new-privs -- "$@"`;
  return {
    dataDir,
    start: (argv, environment) =>
      spawn("unshare", ["--mount", "--", "sh", "-c", script, "sh", ...argv], {
        env: { PATH: `${place.command}:${process.env["PATH"] ?? ""}`, ...environment },
        cwd: "/",
        stdio: ["ignore", "pipe", "pipe"],
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A port that nobody listens on. */

/** All that a process says, and how it ends. */
export function heard(child: ChildProcess) {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (piece) => (text += String(piece)));
  }
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { ended, text: () => text };
}

// A process that owns a data directory, in namespaces of its own if asked for: as a service in another
// container, with the volume in common.
import { spawn } from "node:child_process";
import { once } from "node:events";

const MODULE = new URL("../../../src/journal/data-directory.ts", import.meta.url).href;

/** Runs a command as pid 1 of a host of its own, named box-a; ends it with itself. */
export const CONTAINER = [
  "unshare",
  "--pid",
  "--net",
  "--uts",
  "--fork",
  "--kill-child=KILL",
  "--mount-proc",
  "sh",
  "-c",
  'echo box-a > /proc/sys/kernel/hostname; exec "$@"',
  "sh",
];

/** Claims the directory, says so, and stays; `kill` resolves once it is gone. */
export async function holder(directory: string, runner: readonly string[] = []) {
  const script = `const { claimDataDirectory } = await import(${JSON.stringify(MODULE)});
    try { await claimDataDirectory(${JSON.stringify(directory)}); process.stdout.write("held"); }
    catch (error) { process.stdout.write(error.message); process.exit(); }
    setInterval(() => undefined, 1000);`;
  const node = [process.execPath, "--disable-warning=ExperimentalWarning"];
  const [program, ...rest] = [...runner, ...node, "--input-type=module", "-e", script];
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "ignore"] });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const kill = async () => {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  };
  return { pid: child.pid!, said: said.toString(), kill };
}

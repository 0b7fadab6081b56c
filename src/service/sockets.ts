// Sockets of the file system that the service listens on, claimed before a long journal is replayed and
// let go last.
import { readFileSync } from "node:fs";
import { claimSocketFile, type SocketFile } from "../platform/socket-file.ts";
import type { Closer } from "./closers.ts";
import { throwCommandFailure, CommandFailure, EXIT_USAGE } from "./failure.ts";
import type { ServeConfig } from "./settings/config.ts";

/** @throws CommandFailure when one is another process's, or its group is not known. */
export async function claimSockets(
  { sockets }: Pick<ServeConfig, "sockets">,
  closers: Closer[],
): Promise<SocketFile[]> {
  const { paths, mode, group } = sockets;
  if (paths.length === 0) return [];
  const groupId = group === undefined ? undefined : resolveGroupId(group);
  const claimed: SocketFile[] = [];
  for (const path of paths) {
    const file = await claimSocketFile(path, { mode, groupId }).catch(throwCommandFailure);
    closers.push(() => file.release());
    claimed.push(file);
  }
  return claimed;
}

/** By number, or by name in the system's own list. @throws CommandFailure */
export function resolveGroupId(group: string, read = readGroups): number {
  if (/^\d{1,9}$/.test(group)) return Number(group);
  for (const line of read().split("\n")) {
    const [name, , id] = line.split(":");
    if (name === group && /^\d+$/.test(id ?? "")) return Number(id);
  }
  const hint = "name one of /etc/group, or give its number";
  throw new CommandFailure(`--socket-group: there is no group \`${group}\`: ${hint}`, EXIT_USAGE);
}

function readGroups(): string {
  try {
    return readFileSync("/etc/group", "utf8");
  } catch {
    return "";
  }
}

// Addresses of the service, from the flags, the environment and the file.
import { type Environment, InvalidSetting, readSetting } from "./settings.ts";

/** Sockets of the file system to listen on. */
export interface SocketSettings {
  readonly paths: readonly string[];
  readonly mode: number;
  /** Name or number; undefined: the process's own. */
  readonly group: string | undefined;
}

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  /** False: host and port are not listened on, the sockets alone are. */
  readonly isTcpWanted: boolean;
  readonly sockets: SocketSettings;
}

export interface ListenFlags {
  port?: string;
  host?: string;
  listen?: string;
  socketMode?: string;
  socketGroup?: string;
  httpThreads?: string;
}

/** @throws InvalidSetting where two flags say two things, or one that cannot be meant. */
export function parseListenConfig(flags: ListenFlags, environment: Environment): ListenConfig {
  const host = readSetting("host", flags.host, environment);
  const port = readSetting("port", flags.port, environment);
  const list = readSetting("listen", flags.listen, environment);
  const isTwice = flags.host !== undefined || flags.port !== undefined;
  if (flags.listen !== undefined && isTwice) {
    throw new InvalidSetting("--listen names every address: leave --host and --port out");
  }
  const sockets = {
    paths: list?.sockets ?? [],
    mode: Number.parseInt(readSetting("socketMode", flags.socketMode, environment), 8),
    group: readSetting("socketGroup", flags.socketGroup, environment),
  };
  const isTcpWanted = list === undefined || list.tcp !== undefined;
  if (!isTcpWanted && readSetting("httpThreads", flags.httpThreads, environment) > 1) {
    throw new InvalidSetting("several HTTP threads share a port: --listen has none");
  }
  return { host, port, ...list?.tcp, isTcpWanted, sockets };
}

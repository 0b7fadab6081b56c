// The console as flags, environment and file ask for it.
import type { ConsoleOptions } from "../../http/console/console.ts";
import { isLoopbackHost } from "../../http/metrics/listener.ts";
import { type Environment, InvalidSetting, readSetting } from "./settings.ts";

/** @throws InvalidSetting */
export function parseConsoleConfig(
  flags: { readonly console?: string },
  { host, isTcpWanted }: { readonly host: string; readonly isTcpWanted: boolean },
  environment: Environment,
): ConsoleOptions {
  const mode = readSetting("console", flags.console, environment);
  const isInsecure = readSetting("consoleInsecure", undefined, environment) === "true";
  const isBoundToLoopback = isTcpWanted && isLoopbackHost(host);
  if (isInsecure && !isBoundToLoopback) {
    throw new InvalidSetting("TRUSTRANK_CONSOLE_INSECURE is for a service on loopback alone");
  }
  const hosts = readSetting("consoleHosts", undefined, environment) ?? [];
  return { mode, hosts, isBoundToLoopback, isInsecure };
}

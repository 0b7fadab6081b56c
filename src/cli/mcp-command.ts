// `trustrank mcp`: the MCP face of a running service, on standard input and output or over HTTP.
import type { ServerAccess } from "../service/settings/config.ts";
import { findServer } from "../journal/ownership/server-address.ts";
import { CommandFailure } from "../service/failure.ts";
import { serveMcpHttp, serveMcpStdio } from "../mcp/server.ts";
import { readPackageVersion } from "../service/identity.ts";
import { type DataAccess, requireReachableUrl } from "./data-access.ts";
import { printNote } from "./output.ts";
import { parseServerAddress } from "./server-client.ts";

export interface McpFlags {
  /** Port for streamable HTTP; without it standard input and output. */
  readonly http?: number;
  readonly host: string;
  readonly allowReports?: boolean;
}

/**
 * Serves until its client hangs up, or over HTTP until a signal.
 * @throws CommandFailure when no server or no key is known.
 */
export async function runMcp(access: DataAccess, flags: McpFlags): Promise<void> {
  const allowsReports = flags.allowReports === true;
  const url = requireServerUrl(access);
  const options = { ...resolveMcpTarget(url), version: readPackageVersion(), allowsReports };
  if (flags.http === undefined) {
    await serveMcpStdio(options, requireApiKey(access.server));
    return;
  }
  const listener = await serveMcpHttp(options, { host: flags.host, port: flags.http });
  printNote(`MCP at ${listener.url}, over ${url}; callers bring their own API key`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
  });
  await listener.close();
}

/** Several nodes are divided by commas. A socket's path may hold one. */
function resolveMcpTarget(url: string) {
  const addresses = url.split(",").map((each) => each.trim());
  if (addresses.length > 1 && addresses.every((each) => /^https?:\/\//.test(each))) {
    return { baseUrl: addresses };
  }
  const { base: baseUrl, fetch } = parseServerAddress(url);
  return { baseUrl, fetch };
}

function requireServerUrl({ server, dataDir }: DataAccess): string {
  if (server.url !== undefined) return server.url;
  const found = findServer(dataDir);
  if (found !== undefined) return requireReachableUrl(found);
  throw new CommandFailure("no server is running on the data directory: give --url, or start one");
}

function requireApiKey({ key }: ServerAccess): string {
  if (key !== undefined) return key;
  throw new CommandFailure("the server asks for a key: give --key or set TRUSTRANK_KEY");
}

// Version of the service and its version address, as it prints them.
import { readFileSync } from "node:fs";
import type { ServeConfig } from "./settings/config.ts";

const MANIFEST = new URL("../../package.json", import.meta.url);

/** An address to paste: the unspecified address is reached through the loopback. */
export function buildListenUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** Where commands find the service: its port, or else its first socket. */
export function buildServiceUrl(
  { host, isTcpWanted, sockets }: Pick<ServeConfig, "host" | "isTcpWanted" | "sockets">,
  port: number,
): string {
  return isTcpWanted ? buildListenUrl(host, port) : `unix:${sockets.paths[0]}`;
}

/** Version of the package, as `--version` and the service itself print it. */
export function readPackageVersion(): string {
  const manifest = JSON.parse(readFileSync(MANIFEST, "utf8")) as { version: string };
  return manifest.version;
}

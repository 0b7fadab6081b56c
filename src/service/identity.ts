// Version of the service and its version address, as it prints them.
import { readFileSync } from "node:fs";

const MANIFEST = new URL("../../package.json", import.meta.url);

/** An address to paste: the unspecified address is reached through the loopback. */
export function urlOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** Version of the package, as `--version` and the service itself print it. */
export function versionOf(): string {
  const manifest = JSON.parse(readFileSync(MANIFEST, "utf8")) as { version: string };
  return manifest.version;
}

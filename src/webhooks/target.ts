// Targets of webhooks: the URL that an operator registers, and the addresses that its name resolves to at delivery.
// The name is resolved once per connection, every address is checked, and the connection uses one of those (no DNS
// rebinding).
import { isIP } from "node:net";
import { isAllowedAddress, type AllowedNetworks } from "./address.ts";

/** Addresses of a name. @throws when it has none. */
export type NameResolver = (name: string) => Promise<readonly string[]>;

/** Addresses of one name that are looked at; more is no endpoint. */
const ADDRESSES_MAX = 32;

/** The target may not be told, or has no address. */
export class TargetRefusedError extends Error {}

/**
 * What is wrong with the URL of an endpoint, as a sentence; undefined: nothing that can be known without
 * resolving its name.
 */
export function findUrlFault(text: string, allowed: AllowedNetworks): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return "must be an absolute URL";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
  if (url.hash !== "") return "must not have a fragment";
  const host = readUrlHost(url);
  const isLocal = isIP(host) !== 0 || isLocalhostName(host);
  const addresses = isLocalhostName(host) ? LOOPBACK_ADDRESSES : [host];
  if (isLocal && !addresses.some((address) => isAllowedAddress(address, allowed))) {
    return "must not lead to a private address that is not allowed (TRUSTRANK_WEBHOOK_ALLOW)";
  }
  const isAllowed = isLocal && addresses.some((address) => allowed.has(address));
  if (url.protocol === "http:" && isIP(host) !== 0 && !isAllowed) {
    return "must be https: http is for networks that are allowed (TRUSTRANK_WEBHOOK_ALLOW)";
  }
  return undefined;
}

/** Host of a URL without the brackets of IPv6. */
export function readUrlHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

const LOOPBACK_ADDRESSES = ["127.0.0.1", "::1"];

function isLocalhostName(host: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(host);
}

/**
 * The addresses to connect to.
 * @throws TargetRefused when one of them may not be told; the resolver's error.
 */
export async function resolveTargetAddresses(
  url: URL,
  allowed: AllowedNetworks,
  resolve: NameResolver,
): Promise<readonly string[]> {
  const host = readUrlHost(url);
  if (isLocalhostName(host)) return listAllowedLoopback(allowed);
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new TargetRefusedError("the name has no address");
  if (addresses.length > ADDRESSES_MAX)
    throw new TargetRefusedError("the name has too many addresses");
  for (const address of addresses) {
    if (!isAllowedAddress(address, allowed)) {
      throw new TargetRefusedError("the name leads to a private address");
    }
    if (url.protocol === "http:" && !allowed.has(address)) {
      throw new TargetRefusedError("http is for networks that are allowed alone");
    }
  }
  return addresses;
}

/** This machine, as far as it is allowed: no resolver is asked for it. */
function listAllowedLoopback(allowed: AllowedNetworks): readonly string[] {
  const addresses = LOOPBACK_ADDRESSES.filter((address) => allowed.has(address));
  if (addresses.length === 0) throw new TargetRefusedError("the name leads to a private address");
  return addresses;
}

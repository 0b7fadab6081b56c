// Targets of webhooks: the URL of an endpoint as an operator gives it, and the addresses that its name has
// when it is told. The name is resolved once for each connection, every address is looked at, and the
// connection goes to one of those: a name that changes in between changes nothing.
import { isIP } from "node:net";
import { isReachable, type Networks } from "./address.ts";

/** Addresses of a name. @throws when it has none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Addresses of one name that are looked at; more is no endpoint. */
const ADDRESSES_MAX = 32;

/** The target may not be told, or has no address. */
export class TargetRefused extends Error {}

/**
 * What is wrong with the URL of an endpoint, as a sentence; undefined: nothing that can be known without
 * resolving its name.
 */
export function urlFault(text: string, allowed: Networks): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return "must be an absolute URL";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
  if (url.hash !== "") return "must not have a fragment";
  const host = readUrlHost(url);
  const isLocal = isIP(host) !== 0 || isLocalhost(host);
  const addresses = isLocalhost(host) ? LOCALHOST : [host];
  if (isLocal && !addresses.some((address) => isReachable(address, allowed))) {
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

const LOCALHOST = ["127.0.0.1", "::1"];

function isLocalhost(host: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(host);
}

/**
 * The addresses to connect to.
 * @throws TargetRefused when one of them may not be told; the resolver's error.
 */
export async function resolveTargetAddresses(
  url: URL,
  allowed: Networks,
  resolve: Resolve,
): Promise<readonly string[]> {
  const host = readUrlHost(url);
  if (isLocalhost(host)) return allowedLocalhost(allowed);
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new TargetRefused("the name has no address");
  if (addresses.length > ADDRESSES_MAX) throw new TargetRefused("the name has too many addresses");
  for (const address of addresses) {
    if (!isReachable(address, allowed)) {
      throw new TargetRefused("the name leads to a private address");
    }
    if (url.protocol === "http:" && !allowed.has(address)) {
      throw new TargetRefused("http is for networks that are allowed alone");
    }
  }
  return addresses;
}

/** This machine, as far as it is allowed: no resolver is asked for it. */
function allowedLocalhost(allowed: Networks): readonly string[] {
  const addresses = LOCALHOST.filter((address) => allowed.has(address));
  if (addresses.length === 0) throw new TargetRefused("the name leads to a private address");
  return addresses;
}

// Addresses that webhooks may connect to (SSRF protection): public unicast, and networks that the operator allows.
// An endpoint must not reach cloud metadata, this host or its network through the service.
import { BlockList, isIP, isIPv4 } from "node:net";

/** Special purposes by IANA's registry; and Azure's own server, which has a public address. */
const V4_BLOCKED = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "168.63.129.16/32",
];
/** Nothing else is global unicast. */
const V6_PUBLIC = ["2000::/3"];
/** Within it: IETF protocols with Teredo, documentation, 6to4, which leads to any v4 address. */
const V6_BLOCKED = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

const v4Blocked = buildBlockList(V4_BLOCKED);
const v6Public = buildBlockList(V6_PUBLIC);
const v6Blocked = buildBlockList(V6_BLOCKED);

/** Networks that an operator allows beside the public ones. */
export interface AllowedNetworks {
  has(address: string): boolean;
}

export const NO_NETWORKS: AllowedNetworks = { has: () => false };

/** `10.0.0.0/8,::1/128`; an address alone is itself. @throws RangeError naming what is no network. */
export function parseNetworks(text: string): AllowedNetworks {
  const list = buildBlockList(text.split(",").map((each) => each.trim()));
  return { has: (address) => isInBlockList(list, address) };
}

function buildBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const isBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (version === 0 || !isBits) throw new RangeError(`\`${network}\` is not a network`);
    list.addSubnet(address, bits === undefined ? most : Number(bits), `ipv${version as 4 | 6}`);
  }
  return list;
}

function isInBlockList(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

const V4_MAPPED_V6 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** One spelling of an address; a v4 address inside a v6 one is the v4 one. Undefined: it is none. */
export function normalizeAddress(address: string): string | undefined {
  const version = isIP(address);
  if (version === 4) return address;
  // A zone leads to one of our own links.
  if (version === 0 || address.includes("%")) return undefined;
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, high, low] = V4_MAPPED_V6.exec(text) ?? [];
  if (high === undefined || low === undefined) return text;
  const words = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return words.flatMap((word) => [word >> 8, word & 255]).join(".");
}

/** Whether an address may be connected to. */
export function isAllowedAddress(address: string, allowed: AllowedNetworks): boolean {
  const plain = normalizeAddress(address);
  return plain !== undefined && (allowed.has(plain) || isPublicAddress(plain));
}

function isPublicAddress(plain: string): boolean {
  if (isIPv4(plain)) return !isInBlockList(v4Blocked, plain);
  return isInBlockList(v6Public, plain) && !isInBlockList(v6Blocked, plain);
}

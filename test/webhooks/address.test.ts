// Addresses that a webhook may reach: public ones, however an address is spelt, and what is allowed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isAllowedAddress,
  NO_NETWORKS,
  parseNetworks,
  normalizeAddress,
} from "../../src/webhooks/address.ts";

const REFUSED = [
  "0.0.0.0",
  "10.1.2.3",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.255",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "0:0:0:0:0:ffff:10.0.0.1",
  "::7f00:1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "2002:7f00:1::",
  "2001:0:7f00:1::",
  "2001:db8::1",
  "fe80::1",
  "fe80::1%eth0",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "not an address",
  "127.1",
  "",
];
const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "2606:4700::1111",
  "2a00:1450:4001::1",
];

const octet = fc.integer({ min: 0, max: 255 });
const v4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join("."));

describe("an address", () => {
  it.each(REFUSED)("is refused: %s", (address) => {
    expect(isAllowedAddress(address, NO_NETWORKS)).toBe(false);
  });

  it.each(PUBLIC)("is public: %s", (address) => {
    expect(isAllowedAddress(address, NO_NETWORKS)).toBe(true);
  });

  it("is judged alike in every spelling of v4 inside v6", () => {
    fc.assert(
      fc.property(v4, (address) => {
        const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
        const words = [a * 256 + b, c * 256 + d].map((word) => word.toString(16));
        for (const mapped of [`::ffff:${address}`, `::FFFF:${words.join(":")}`]) {
          expect(normalizeAddress(mapped)).toBe(address);
          const both = [mapped, address].map((each) => isAllowedAddress(each, NO_NETWORKS));
          expect(both[0]).toBe(both[1]);
        }
        // Ways to a v4 address through a v6 network lead nowhere.
        for (const way of [`64:ff9b::${words.join(":")}`, `2002:${words.join(":")}::1`]) {
          expect(isAllowedAddress(way, NO_NETWORKS)).toBe(false);
        }
      }),
    );
  });

  it("is reached where its network is allowed, and only there", () => {
    const allowed = parseNetworks("10.2.0.0/16, 127.0.0.1,fd00::/8");
    const reached = ["10.2.3.4", "127.0.0.1", "::ffff:10.2.3.4", "fd12::1", "1.1.1.1"];
    expect(reached.filter((address) => !isAllowedAddress(address, allowed))).toEqual([]);
    const others = ["10.3.0.1", "127.0.0.2", "fe80::1", "::1"];
    expect(others.filter((address) => isAllowedAddress(address, allowed))).toEqual([]);
  });

  it.each(["10.0.0.0/33", "::/129", "10.0.0/8", "host", "", "10.0.0.0/8,", "10.0.0.0/x"])(
    "is no network: %s",
    (text) => {
      expect(() => parseNetworks(text)).toThrow(RangeError);
    },
  );
});

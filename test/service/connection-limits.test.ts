// Connections that a limit of descriptors leaves room for.
import { expect, test } from "vitest";
import { computeConnectionsMax, readDescriptorLimit } from "../../src/service/connection-limits.ts";

const LIMITS = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     
Max processes             127452               127452               processes 
Max open files            ${soft.padEnd(20)} 1048576              files     
`;

test("the soft limit is read as the kernel tells it", () => {
  expect(readDescriptorLimit(() => LIMITS("1024"))).toBe(1024);
  expect(readDescriptorLimit(() => LIMITS("unlimited"))).toBe(Number.POSITIVE_INFINITY);
  expect(readDescriptorLimit(() => "")).toBe(1024);
  expect(readDescriptorLimit()).toBeGreaterThan(0);
});

test("files and threads are left room, and there is a bound besides", () => {
  expect(computeConnectionsMax(undefined, 256, 3)).toBe(256 - 192 - 18);
  expect(computeConnectionsMax(undefined, 1024, 1)).toBe(1024 - 198);
  expect(computeConnectionsMax(undefined, 1024, 1, 256)).toBe(1024 - 198 - 256);
  expect(computeConnectionsMax(undefined, 1_048_576, 1)).toBe(20_000);
  expect(computeConnectionsMax(undefined, Number.POSITIVE_INFINITY, 1)).toBe(20_000);
  expect(computeConnectionsMax(100_000, 1_048_576, 1)).toBe(100_000);
});

test("what does not fit is refused in one sentence", () => {
  expect(() => computeConnectionsMax(900, 1024, 1)).toThrow(
    "900 connections need 1098 descriptors and the limit is 1024: raise it (`ulimit -n`, " +
      "LimitNOFILE) or lower TRUSTRANK_CONNECTIONS_MAX",
  );
  expect(() => computeConnectionsMax(undefined, 200, 1)).toThrow(
    "16 connections need 214 descriptors",
  );
});

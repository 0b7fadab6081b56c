// Links that share a report: good for one agent of one tenant, until their time, for as long as the key
// that made them and the bureau's own; and a bound on how many are read at once.
import { describe, expect, it } from "vitest";
import { SHARED_READS_MAX, SharedReportLinks } from "../../../src/http/access/report-links.ts";
import { principal } from "../../bureau/_harness.ts";

const START_MS = Date.parse("2026-03-01T12:00:00.500Z");
const WHAT = { tenant: "acme", agent: 'agent "x"\n.y', keyId: "key-1" };

function open(secret = "bureau-1") {
  const state = { nowMs: START_MS, secret, isInForce: true };
  const links = new SharedReportLinks({
    signingKeys: { sign: (type) => ({ jws: `${type} ${state.secret}`, kid: "k" }) },
    clock: () => state.nowMs,
    findValidPrincipal: () => (state.isInForce ? principal : undefined),
  });
  return { state, links, ...links.createToken(WHAT, 60) };
}

describe("a link", () => {
  it("opens what it was made for until it expires, not after", () => {
    const { state, links, token, expiresMs } = open();
    expect(links.verifyToken(token)).toEqual(WHAT);
    expect(expiresMs - START_MS).toBeGreaterThanOrEqual(60_000);
    state.nowMs = expiresMs - 1;
    expect(links.verifyToken(token)).toEqual(WHAT);
    state.nowMs = expiresMs;
    expect(links.verifyToken(token)).toBeUndefined();
  });

  it("ends with the key that made it, and with the bureau's", () => {
    const { state, links, token } = open();
    state.isInForce = false;
    expect(links.verifyToken(token)).toBeUndefined();
    state.isInForce = true;
    state.secret = "bureau-2";
    expect(links.verifyToken(token)).toBeUndefined();
    expect(open("bureau-1").links.verifyToken(token)).toEqual(WHAT);
  });

  it("cannot be changed", () => {
    const { links, token } = open();
    const [part = "", seal = ""] = token.split(".");
    for (let at = 0; at < part.length; at += 1) {
      const letter = part[at] === "A" ? "B" : "A";
      const changed = `${part.slice(0, at)}${letter}${part.slice(at + 1)}.${seal}`;
      expect(links.verifyToken(changed), changed).toBeUndefined();
    }
    for (const odd of ["", ".", `${token} `, `${token}=`, "x".repeat(9000), `${part}.${seal}x`]) {
      expect(links.verifyToken(odd)).toBeUndefined();
    }
  });
});

it("so many are read at one time, and room comes back, also from reads that fail", async () => {
  const { links } = open();
  const ends: (() => void)[] = [];
  const wait = () => links.runLimited(() => new Promise<void>((end) => ends.push(end)));
  const reads = Array.from({ length: SHARED_READS_MAX }, wait);
  await expect(links.runLimited(async () => 1)).rejects.toMatchObject({ code: "overloaded" });
  for (const end of ends) end();
  await Promise.all(reads);
  for (let n = 0; n <= SHARED_READS_MAX; n += 1) {
    await expect(links.runLimited(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  }
  expect(await links.runLimited(async () => 1)).toBe(1);
});

// Nonces by tenant: one tenant's flood lapses its own and nobody else's, and all together are bounded.
import { randomFillSync } from "node:crypto";
import { expect, test } from "vitest";
import {
  NONCE_TTL_MS,
  NONCES_PER_TENANT_MAX,
  NonceStore,
} from "../../../src/bureau/reporters/nonces.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const AGENT = "agent://acme/a";

const open = () => new NonceStore((bytes) => void randomFillSync(bytes));

test("a nonce is good once, for its agent and tenant, until it expires", () => {
  const nonces = open();
  const { nonce, expiresAtMs } = nonces.issue(AGENT, "acme", NOW_MS);
  expect(expiresAtMs).toBe(NOW_MS + NONCE_TTL_MS);
  expect(nonces.consume(nonce, AGENT, "rival", NOW_MS)).toBe(false);
  expect(nonces.consume(nonce, "agent://acme/b", "acme", NOW_MS)).toBe(false);
  expect(nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(true);
  expect(nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(false);
  const late = nonces.issue(AGENT, "acme", NOW_MS).nonce;
  expect(nonces.consume(late, AGENT, "acme", NOW_MS + NONCE_TTL_MS)).toBe(false);
});

test("10,000 nonces of one tenant lapse its own alone", () => {
  const nonces = open();
  const [honest, first] = [
    nonces.issue(AGENT, "acme", NOW_MS).nonce,
    nonces.issue(AGENT, "flood", NOW_MS).nonce,
  ];
  for (let at = 0; at < 10_000; at++) nonces.issue(AGENT, "flood", NOW_MS);
  expect(nonces.gauges().nonces_outstanding).toBe(NONCES_PER_TENANT_MAX + 1);
  expect(nonces.consume(first, AGENT, "flood", NOW_MS)).toBe(false);
  expect(nonces.consume(honest, AGENT, "acme", NOW_MS)).toBe(true);
});

test("many tenants together: expired ones leave first, then those of whoever has most", () => {
  const nonces = open();
  const honest = nonces.issue(AGENT, "acme", NOW_MS).nonce;
  for (let tenant = 0; tenant < 60; tenant++) {
    for (let at = 0; at < NONCES_PER_TENANT_MAX; at++) nonces.issue(AGENT, `t${tenant}`, NOW_MS);
  }
  const { nonces_outstanding, nonces_lapsed_total } = nonces.gauges();
  expect(nonces_outstanding).toBeLessThanOrEqual(50_000);
  expect(nonces_lapsed_total).toBeGreaterThan(9000);
  expect(nonces.consume(honest, AGENT, "acme", NOW_MS)).toBe(true);
  for (const tenant of ["late", "later"]) nonces.issue(AGENT, tenant, NOW_MS + NONCE_TTL_MS);
  expect(nonces.gauges().nonces_outstanding).toBeLessThan(3);
});

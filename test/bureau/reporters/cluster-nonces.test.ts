// Nonces that every node of a cluster takes: good on another node, once, for one agent and tenant.
import { randomFillSync } from "node:crypto";
import { expect, test } from "vitest";
import { KeyRegistry } from "../../../src/bureau/reporters/key-registry.ts";
import { NONCE_TTL_MS } from "../../../src/bureau/reporters/nonces.ts";
import { ClusterNonces } from "../../../src/bureau/reporters/cluster-nonces.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const AGENT = "agent://acme/a";
const SECRET = Buffer.alloc(32, 7);

function openNode(secret = SECRET) {
  const registry = new KeyRegistry();
  const fill = (bytes: Uint8Array) => void randomFillSync(bytes);
  return {
    registry,
    nonces: new ClusterNonces(secret, fill, (nonce) => registry.isNonceUsed(nonce)),
  };
}

test("what one node issues another takes, for its agent and tenant, until it expires", () => {
  const [one, two] = [openNode(), openNode()];
  const { nonce, expiresAtMs } = one.nonces.issue(AGENT, "acme", NOW_MS);
  expect(expiresAtMs).toBe(NOW_MS + NONCE_TTL_MS);
  expect(two.nonces.consume(nonce, AGENT, "rival", NOW_MS)).toBe(false);
  expect(two.nonces.consume(nonce, "agent://acme/b", "acme", NOW_MS)).toBe(false);
  expect(two.nonces.consume(nonce, AGENT, "acme", expiresAtMs)).toBe(false);
  expect(openNode(Buffer.alloc(32, 8)).nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(false);
  for (let at = 0; at < nonce.length; at++) {
    const changed = `${nonce.slice(0, at)}${nonce[at] === "x" ? "y" : "x"}${nonce.slice(at + 1)}`;
    expect(two.nonces.consume(changed, AGENT, "acme", NOW_MS), changed).toBe(false);
  }
  expect(two.nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(true);
  expect(two.nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(false);
});

test("the key that it made spends it on every node that has heard of the key", () => {
  const [one, two] = [openNode(), openNode()];
  const { nonce } = one.nonces.issue(AGENT, "acme", NOW_MS);
  expect(one.nonces.consume(nonce, AGENT, "acme", NOW_MS)).toBe(true);
  two.registry.apply({
    event: "registered",
    at_ms: NOW_MS,
    tenant: "acme",
    agent: AGENT,
    kid: "kid",
    x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    not_before_ms: NOW_MS,
    expires_ms: null,
    others_retire_ms: NOW_MS,
    proof: `h.${Buffer.from(nonce).toString("base64url")}.s`,
  });
  expect(two.nonces.consume(nonce, AGENT, "acme", NOW_MS + 1)).toBe(false);
});

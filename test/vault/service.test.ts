// The vault in the running service: over HTTP, through a restart, the same on pool threads as on
// the HTTP thread.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactVerify, importJWK } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { SignedRoot, KindThreshold } from "../../src/contract/schemas/sources.ts";
import type { VerifyContext } from "../../src/contract/schemas/scores.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { startService } from "../../src/service/start.ts";
import type { Service } from "../../src/service/start.ts";
import { parseServeConfig } from "../../src/service/settings/config.ts";
import { BRIDGE } from "./_setup.ts";

const ADMIN_KEY = "vault-service-test-key-of-enough-length";
const dataDir = mkdtempSync(join(tmpdir(), "vault-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let service: Service;

const start = () => {
  const environment = { TRUSTRANK_ADMIN_KEY: ADMIN_KEY };
  const config = parseServeConfig({ port: "0", dataDir, sample: false }, environment);
  return startService(config, silent, () => undefined);
};

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const requestOf = (context: VerifyContext) => ({
  agent_id: "agent://acme/writer",
  action: "report.publish",
  tool_level: "L2",
  context,
});

async function provenanceOf(context: VerifyContext) {
  const { body } = await send("POST", "/v1/trust/verify", requestOf(context));
  return body["provenance_data"];
}

beforeAll(async () => {
  service = await start();
});

afterAll(async () => {
  await service.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const TRUE_CLAIM = { content: "John Bradfield led the project.", cited_sources: ["bridge"] };
const OTHER = { content: "Chloroplasts of green leaves convert carbon into glucose." };

describe("evidence over HTTP", () => {
  it("registers, reads without the text, and refuses what is not a registration", async () => {
    expect((await send("PUT", "/v1/evidence/bridge", { text: BRIDGE })).status).toBe(201);
    expect((await send("PUT", "/v1/evidence/bridge", { text: BRIDGE })).status).toBe(200);
    const { status, body } = await send("GET", "/v1/evidence/bridge");
    expect(status).toBe(200);
    expect(body).toMatchObject({ source_id: "bridge", state: "active", has_text: true });
    expect(JSON.stringify(body)).not.toContain("Bradfield");
    expect((await send("PUT", "/v1/evidence/x", { title: "x" })).status).toBe(400);
    expect((await send("PUT", "/v1/evidence/x", { text: "x", colour: 1 })).status).toBe(400);
    expect((await send("GET", "/v1/evidence/nowhere")).status).toBe(404);
  });

  it("takes a batch, ids with slashes and all", async () => {
    const items = ["a/1", "https://example.com/p?q=1"].map((source_id) => ({
      source_id,
      text: `text of ${source_id}`,
    }));
    const { status, body } = await send("POST", "/v1/evidence", { items });
    expect(status).toBe(200);
    expect(body["records"]).toHaveLength(2);
    const path = `/v1/evidence/${encodeURIComponent(items[1]!.source_id)}`;
    expect((await send("GET", path)).body["source_id"]).toBe(items[1]!.source_id);
  });

  it("searches, pages, and lets administrators alone name another tenant", async () => {
    const { body: made } = await send("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["evidence:write"],
    });
    const asAcme = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(service.url + path, {
        method,
        headers: {
          authorization: `Bearer ${String(made["key"])}`,
          "content-type": "application/json",
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    for (const id of ["tide-1", "tide-2", "moon"]) {
      await asAcme("PUT", `/v1/evidence/${id}`, { text: `text of ${id}` });
    }
    const ids = ({ body }: Answer) =>
      (body["records"] as { source_id: string }[]).map((each) => each.source_id);
    const first = await asAcme("GET", "/v1/evidence?prefix=Tide&limit=1");
    expect(ids(first)).toEqual(["tide-2"]);
    const next = Number(first.body["next_before"]);
    expect(ids(await asAcme("GET", `/v1/evidence?prefix=Tide&before=${next}`))).toEqual(["tide-1"]);
    expect(ids(await send("GET", "/v1/evidence"))).not.toContain("moon");
    expect(ids(await send("GET", "/v1/evidence?tenant=acme&state=active"))).toContain("moon");
    expect((await send("GET", "/v1/evidence/moon?tenant=acme")).status).toBe(200);
    const withdrawn = await send("DELETE", "/v1/evidence/moon?tenant=acme");
    expect(withdrawn.body).toMatchObject({ state: "revoked", tenant: "acme" });
    for (const path of ["?tenant=operator", "/tide-1?tenant=operator"]) {
      expect((await asAcme("GET", `/v1/evidence${path}`)).status).toBe(403);
    }
    for (const query of ["state=gone", "before=x", "limit=0", "limit=1001", "tenant="]) {
      expect((await send("GET", `/v1/evidence?${query}`)).body["code"]).toBe("invalid_parameter");
    }
  });

  it("tells when a key was last used, and which tenants there are", async () => {
    const { body: made } = await send("POST", "/v1/keys", {
      tenant: "tidy",
      scopes: ["score:read"],
    });
    const listed = async () => {
      const { body } = await send("GET", "/v1/keys");
      const keys = body["keys"] as { key_id: string; last_used_at: string | null }[];
      return keys.find((key) => key.key_id === made["key_id"])!.last_used_at;
    };
    expect(await listed()).toBeNull();
    const before = Date.now() - 1000;
    await fetch(`${service.url}/v1/trust/verify`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${String(made["key"])}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(requestOf(TRUE_CLAIM)),
    });
    expect(Date.parse((await listed())!)).toBeGreaterThan(before);
    const { body } = await send("GET", "/v1/tenants");
    const tenants = body["tenants"] as { tenant: string }[];
    expect(tenants.find(({ tenant }) => tenant === "tidy")).toMatchObject({
      keys: 1,
      keys_active: 1,
      paid_reads: 1,
    });
  });

  it("answers a large batch of verdicts as it answers one", async () => {
    const contexts = [TRUE_CLAIM, { ...OTHER, cited_sources: ["bridge"] }];
    const single = await Promise.all(contexts.map(provenanceOf));
    const items = Array.from({ length: 600 }, (_, at) => requestOf(contexts[at % 2]!));
    let body: Record<string, unknown> = {};
    // A busy machine refuses what would come too late.
    const ask = async () => ({ body } = await send("POST", "/v1/trust/verify/batch", { items }));
    await expect.poll(ask).toMatchObject({ status: 200 });
    const results = body["items"] as { result: { provenance_data: unknown } }[];
    expect(results.map((each) => each.result.provenance_data)).toEqual(
      items.map((_, at) => single[at % 2]),
    );
  });

  it("scores a large text on its own thread, and never guesses before that is ready", async () => {
    const content = `${TRUE_CLAIM.content} ${OTHER.content} `.repeat(400);
    const cited_sources = ["bridge", "a/1", "https://example.com/p?q=1"];
    const seen = new Set<unknown>();
    for (let tries = 0; tries < 50 && !seen.has("scored"); tries++) {
      const { body } = await send(
        "POST",
        "/v1/trust/verify",
        requestOf({ content, cited_sources }),
      );
      const codes = body["reason_codes"] as string[];
      seen.add(codes.includes("PROVENANCE_NOT_ASSESSED") ? "not assessed" : "scored");
    }
    expect(seen).toContain("scored");
  });

  it("registers a text too large to index in place, and every thread sees it at once", async () => {
    const filler = Array.from(
      { length: 900 },
      (_, at) => `Page ${at} is about harbour number ${at}.`,
    );
    const text = `${filler.join(" ")} ${BRIDGE}`;
    expect((await send("PUT", "/v1/evidence/large", { text })).status).toBe(201);
    const content = "The engineer John Bradfield led the project.";
    const context = { content, cited_sources: ["large"] };
    expect(await provenanceOf(context)).toMatchObject({ source_verified: true });
    const other = { ...OTHER, cited_sources: ["large"] };
    const items = Array.from({ length: 600 }, () => requestOf(other));
    const { body } = await send("POST", "/v1/trust/verify/batch", { items });
    const [first] = body["items"] as { result: { provenance_data: { sources: unknown } } }[];
    expect(first!.result.provenance_data.sources).toEqual([
      { id: "large", status: "CITATION_MISMATCH" },
    ]);
  });

  it("signs its root with the key that the journal is signed with", async () => {
    const { body } = await send("GET", "/v1/vault/root");
    const { jws, jwk, root, tree_size } = body as unknown as SignedRoot;
    const { payload } = await compactVerify(jws, await importJWK(jwk, "EdDSA"));
    expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({ root, tree_size });
    const { publicKey } = loadBureauKey(resolveDataPaths(dataDir).bureauKey, false);
    expect(Buffer.from(jwk.x, "base64url").equals(publicKey)).toBe(true);
  });

  it("takes labels, tells what they changed, and refuses what is not a label", async () => {
    const items = Array.from({ length: 120 }, (_, at) => ({
      content: `${TRUE_CLAIM.content} Case ${at} of Toowoomba.`,
      cited_sources: ["bridge"],
      question: "Who led it?",
      label: "supported",
    }));
    const { status, body } = await send("POST", "/v1/vault/labels", { items });
    expect(status).toBe(200);
    expect(body["items"]).toHaveLength(items.length);
    const { thresholds } = (await send("GET", "/v1/vault/thresholds")).body;
    expect(thresholds).toEqual(body["thresholds"]);
    const qa = (thresholds as KindThreshold[]).find(({ kind }) => kind === "qa");
    expect(qa).toMatchObject({ from: "tenant", supported: items.length, alpha_doubt: 0.05 });
    const wrong = [{ content: 1, cited_sources: [], label: "true", colour: 1 }];
    const refused = await send("POST", "/v1/vault/labels", { items: wrong });
    expect(refused.status).toBe(400);
    expect((refused.body["errors"] as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual(
      ["/items/0/colour", "/items/0/content", "/items/0/cited_sources", "/items/0/label"],
    );
  });

  it("knows everything again after a restart", async () => {
    const ask = async () => [
      await send("GET", "/v1/evidence"),
      await provenanceOf(TRUE_CLAIM),
      await send("GET", "/v1/vault/thresholds"),
    ];
    const before = await ask();
    await service.close();
    service = await start();
    expect(await ask()).toEqual(before);
  });

  it("revokes, and citing it verifies nothing from then on", async () => {
    expect((await send("DELETE", "/v1/evidence/bridge")).body["state"]).toBe("revoked");
    expect(await provenanceOf(TRUE_CLAIM)).toMatchObject({
      source_verified: false,
      is_hallucinated: false,
      sources: [{ id: "bridge", status: "SOURCE_REVOKED" }],
    });
  });
});

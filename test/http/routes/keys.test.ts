// Change and rotation of API keys over both servers: what is taken, what is refused with which
// pointer, and what goes on record.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { call, problemIn } from "../_client.ts";
import { RowStore } from "../_row-store.ts";
import { CHECK_BODY, describeAdapters, openTestServer, type TestServer } from "../_setup.ts";

const HOUR_MS = 3_600_000;

describeAdapters("routes of API keys", (adapter) => {
  let service: TestServer;
  let store: RowStore;

  beforeEach(async () => {
    store = new RowStore();
    service = await openTestServer(adapter, { store });
  });
  afterEach(() => service.stop());

  async function makeKey(body: object = { tenant: "shop", scopes: ["score:read"] }) {
    const made = await call(service, "/v1/keys", { key: service.admin, body });
    expect(made.status).toBe(201);
    return made.json as { key: string; key_id: string };
  }
  const patch = (id: string, body: unknown, key = service.admin) =>
    call(service, `/v1/keys/${id}`, { method: "PATCH", key, body });
  const rotate = (id: string, body: unknown = {}, key = service.admin) =>
    call(service, `/v1/keys/${id}/rotate`, { key, body });
  const check = async (key: string) =>
    (await call(service, "/v1/check", { key, body: CHECK_BODY })).status;

  describe("change", () => {
    it("takes label, scopes, expiry and minimum scores, and answers with the key", async () => {
      const { key, key_id } = await makeKey();
      const changed = await patch(key_id, {
        label: "gateway",
        scopes: ["score:read", "outcomes:write"],
        expires_at: "2026-03-01T13:00:00Z",
        minimum_scores: { L3: 700 },
      });
      expect(changed.status).toBe(200);
      expect(changed.json).toMatchObject({
        key_id,
        tenant: "shop",
        label: "gateway",
        scopes: ["score:read", "outcomes:write"],
        expires_at: "2026-03-01T13:00:00.000Z",
        minimum_scores: { L0: 300, L3: 700 },
      });
      expect(changed.json).not.toHaveProperty("key");
      expect(await check(key)).toBe(200);
      service.clock.nowMs += HOUR_MS;
      expect(await check(key)).toBe(401);
      const renewed = await patch(key_id, { expires_at: null, label: null });
      expect(renewed.json).toMatchObject({ expires_at: null, label: null });
      expect(await check(key)).toBe(200);
      await patch(key_id, { scopes: ["outcomes:write"] });
      expect(await check(key)).toBe(403);
    });

    it.each([
      [{}, "", "required"],
      [{ tenant: "other" }, "/tenant", "unknown"],
      [{ label: "" }, "/label", "length"],
      [{ label: "a\u0000" }, "/label", "format"],
      [{ label: 7 }, "/label", "type"],
      [{ scopes: [] }, "/scopes", "length"],
      [{ scopes: null }, "/scopes", "type"],
      [{ scopes: ["score:read", "root"] }, "/scopes/1", "enum"],
      [{ expires_at: "tomorrow" }, "/expires_at", "format"],
      [{ expires_at: true }, "/expires_at", "format"],
      [{ expires_at: "2026-03-01T12:00:00Z" }, "/expires_at", "range"],
      [{ minimum_scores: { L3: 851 } }, "/minimum_scores/L3", "range"],
      [{ minimum_scores: { L9: 500 } }, "/minimum_scores/L9", "unknown"],
    ])("refuses %j at `%s`", async (body, pointer, code) => {
      const { key_id } = await makeKey();
      const problem = problemIn(await patch(key_id, body));
      expect([problem.status, problem.code]).toEqual([400, "invalid_request"]);
      expect(problem.errors).toMatchObject([{ pointer, code }]);
      const { json } = await call(service, "/v1/keys", { key: service.admin });
      expect(json.keys.at(-1)).toMatchObject({ label: null, scopes: ["score:read"] });
    });

    it("is an administrator's, of a key that exists and is not revoked", async () => {
      const { key, key_id } = await makeKey();
      expect(problemIn(await patch(key_id, { label: "x" }, key)).code).toBe("insufficient_scope");
      expect(problemIn(await rotate(key_id, {}, key)).code).toBe("insufficient_scope");
      expect(problemIn(await patch("nobody0000", { label: "x" })).code).toBe("not_found");
      expect(problemIn(await rotate("nobody0000")).code).toBe("not_found");
      await call(service, `/v1/keys/${key_id}`, { method: "DELETE", key: service.admin });
      expect(problemIn(await patch(key_id, { label: "x" })).code).toBe("api_key_revoked");
      expect(problemIn(await rotate(key_id)).code).toBe("api_key_revoked");
    });

    it("lets no administrator give more than he has", async () => {
      const expiresAtMs = service.clock.nowMs + HOUR_MS;
      const key = await service.makeKey(["admin"], { expiresAtMs });
      const eternal = await makeKey({ tenant: "operator", scopes: ["admin"] });
      const plain = await makeKey();
      const at = "/expires_at";
      const body = { tenant: "operator", scopes: ["admin"] };
      const made = await call(service, "/v1/keys", { key, body });
      expect(problemIn(made).errors).toMatchObject([{ pointer: at, code: "range" }]);
      const own = service.keyring.findStoredKey(key.split("_")[2]!)!;
      const longer = await patch(own.keyId, { expires_at: expiresAtMs + 1 }, key);
      expect(problemIn(longer).errors).toMatchObject([{ pointer: at, code: "range" }]);
      const raised = await patch(plain.key_id, { scopes: ["admin"] }, key);
      expect(problemIn(raised).errors).toMatchObject([{ pointer: at, code: "range" }]);
      const stolen = await rotate(eternal.key_id, {}, key);
      expect(problemIn(stolen).code).toBe("insufficient_scope");
      expect((await patch(eternal.key_id, { label: "old" }, key)).status).toBe(200);
      expect((await rotate(plain.key_id, {}, key)).status).toBe(200);
    });
  });

  describe("rotation", () => {
    it("answers with a new text, and the old one works for an hour unless told otherwise", async () => {
      const { key, key_id } = await makeKey();
      const rotated = await rotate(key_id);
      expect(rotated.status).toBe(200);
      expect(rotated.json).toMatchObject({
        key_id,
        tenant: "shop",
        rotated_at: "2026-03-01T12:00:00.000Z",
        overlap_ends_at: "2026-03-01T13:00:00.000Z",
      });
      const fresh = rotated.json.key as string;
      expect([await check(key), await check(fresh)]).toEqual([200, 200]);
      service.clock.nowMs += HOUR_MS - 1;
      expect(await check(key)).toBe(200);
      service.clock.nowMs += 1;
      expect([await check(key), await check(fresh)]).toEqual([401, 200]);
      const listed = await call(service, "/v1/keys", { key: service.admin });
      expect(listed.text).not.toContain(fresh.slice(20, 50));
    });

    it.each([-1, 1.0005, 2_592_001, "1h", null])(
      "refuses an overlap of %j",
      async (overlap_sec) => {
        const { key, key_id } = await makeKey();
        const problem = problemIn(await rotate(key_id, { overlap_sec }));
        expect(problem.errors).toMatchObject([{ pointer: "/overlap_sec", code: "range" }]);
        expect(problemIn(await rotate(key_id, { overlap: 1 })).errors).toMatchObject([
          { pointer: "/overlap", code: "unknown" },
        ]);
        expect(await check(key)).toBe(200);
      },
    );

    it("is refused while four earlier secrets work, but never with an overlap of 0", async () => {
      const { key_id } = await makeKey();
      for (let i = 0; i < 4; i++) expect((await rotate(key_id)).status).toBe(200);
      expect(problemIn(await rotate(key_id))).toMatchObject({
        status: 409,
        code: "api_key_overlaps",
      });
      const last = await rotate(key_id, { overlap_sec: 0 });
      expect(last.json.overlap_ends_at).toBeNull();
      expect(await check(last.json.key)).toBe(200);
    });
  });

  it("puts every change on record, with what was before, and no secret", async () => {
    const { key, key_id } = await makeKey();
    const { json: rotated } = await rotate(key_id);
    await patch(key_id, { label: "gateway" });
    const by = { tenant: "shop", actor: "installed-admin" };
    expect(store.noted.slice(1)).toMatchObject([
      {
        table: "audit_events",
        event: {
          ...by,
          event: "api_key.rotated",
          detail: { key_id, overlap_ends_at: "2026-03-01T13:00:00.000Z" },
        },
      },
      {
        table: "audit_events",
        event: {
          ...by,
          event: "api_key.changed",
          detail: { key_id, label: "gateway", before: { label: null } },
        },
      },
    ]);
    for (const text of [key, rotated.key]) {
      expect(JSON.stringify(store.noted)).not.toContain(text.slice(20, 50));
    }
  });

  it("takes a rotation back that cannot be put on record", async () => {
    const { key, key_id } = await makeKey();
    store.recordRun = () => Promise.reject(new Error("the journal is gone"));
    expect((await rotate(key_id, { overlap_sec: 0 })).status).toBe(500);
    expect(await check(key)).toBe(200);
    const { json } = await call(service, "/v1/keys", { key: service.admin });
    expect(json.keys.at(-1)).toMatchObject({ key_id, rotated_at: null });
  });
});

// Routes of scores and outcomes when all is well, over both adapters.
import { describe, expect, it } from "vitest";
import { call, problemIn } from "../_client.ts";
import { describeServers, UUID_V7 } from "../_servers.ts";
import { CHECK_BODY, HANDSHAKE_BODY, OUTCOME_BODY, VERIFY_BODY } from "../_setup.ts";

describeServers("routes", (service) => {
  describe("scores", () => {
    it("verifies: 200 with the verdict whatever it is, cacheable until it expires", async () => {
      const answer = await call(service, "/v1/trust/verify", { body: VERIFY_BODY });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.headers.get("cache-control")).toBe("private, max-age=300");
      expect(answer.json.policy_action).toEqual({
        verdict: "ALLOW",
        log_reason: "TRUST_SUFFICIENT",
      });
      expect(answer.json.provenance_data.sources).toHaveLength(2);
      expect(answer.json.enforced).toBe(true);
      const refused = { ...VERIFY_BODY, agent_id: "agent://test/refuse", context: {} };
      const blocked = await call(service, "/v1/trust/verify", { body: refused });
      expect([blocked.status, blocked.json.policy_action.verdict]).toEqual([200, "BLOCK"]);
      expect(blocked.json.trust_evaluation.regime).toBe("shock");
    });

    it("says what the bureau said, to the letter", async () => {
      const answer = await call(service, "/v1/trust/verify", { body: VERIFY_BODY });
      expect(answer.text).toBe(JSON.stringify(answer.json));
      expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(answer.text)));
    });

    it("refuses a hash that is not that of the content, by every route that takes both", async () => {
      const context = { content: "a text", content_hash: `sha256:${"AB".repeat(32)}` };
      const fault = { pointer: "/context/content_hash", code: "mismatch" };
      const item = { ...VERIFY_BODY, context };
      const verified = await call(service, "/v1/trust/verify", { body: item });
      expect([verified.status, verified.json.code]).toEqual([400, "invalid_request"]);
      expect(verified.json.errors).toMatchObject([fault]);
      const batch = await call(service, "/v1/trust/verify/batch", { body: { items: [item] } });
      expect(batch.json.items[0].problem.errors).toMatchObject([
        { ...fault, pointer: "/items/0/context/content_hash" },
      ]);
      const evaluated = await call(service, "/access/v1/evaluation", {
        body: {
          subject: { type: "agent", id: VERIFY_BODY.agent_id },
          action: { name: VERIFY_BODY.action },
          resource: { type: "report", id: "1" },
          context,
        },
      });
      expect([evaluated.status, evaluated.json.errors]).toMatchObject([400, [fault]]);
      const alone = { ...item, context: { content_hash: context.content_hash } };
      expect((await call(service, "/v1/trust/verify", { body: alone })).status).toBe(200);
    });

    it("verifies a batch item by item", async () => {
      const items = [VERIFY_BODY, { ...VERIFY_BODY, tool_level: "L9" }, 5, VERIFY_BODY];
      const answer = await call(service, "/v1/trust/verify/batch", { body: { items } });
      expect(answer.status).toBe(200);
      const statuses = answer.json.items.map((item: { status: number }) => item.status);
      expect(statuses).toEqual([200, 400, 400, 200]);
      const [first, second, third, fourth] = answer.json.items;
      expect(second.problem.errors[0]).toMatchObject({
        pointer: "/items/1/tool_level",
        code: "enum",
      });
      expect(third.problem.errors[0]).toMatchObject({ pointer: "/items/2", code: "type" });
      expect(first.result.request_id).toMatch(UUID_V7);
      expect(first.result.request_id).not.toBe(fourth.result.request_id);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    });

    it("waits for a slow item of a batch", async () => {
      const items = [{ ...VERIFY_BODY, agent_id: "agent://test/slow" }, VERIFY_BODY];
      const answer = await call(service, "/v1/trust/verify/batch", { body: { items } });
      const statuses = answer.json.items.map((item: { status: number }) => item.status);
      expect(statuses).toEqual([200, 200]);
    });

    it("takes a full batch of a thousand", async () => {
      const items = Array.from({ length: 1000 }, () => ({ ...VERIFY_BODY, context: {} }));
      const answer = await call(service, "/v1/trust/verify/batch", { body: { items } });
      expect(answer.json.items).toHaveLength(1000);
    });

    it("answers later where the bureau does", async () => {
      const body = { ...VERIFY_BODY, agent_id: "agent://test/slow" };
      const answer = await call(service, "/v1/trust/verify", { body });
      expect([answer.status, answer.json.policy_action.verdict]).toEqual([200, "ALLOW"]);
    });

    it("checks", async () => {
      const answer = await call(service, "/v1/check", { body: CHECK_BODY });
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ ...CHECK_BODY, allowed: true, decision: "connect" });
      const body = { ...CHECK_BODY, subject: "agent://test/refuse" };
      const refused = await call(service, "/v1/check", { body });
      expect([refused.status, refused.json.allowed]).toEqual([200, false]);
      expect(refused.json.enforced).toBe(true);
      const key = await service.makeKey(["score:read"], { isShadow: true });
      const shadow = await call(service, "/v1/check", { key, body });
      expect(shadow.json).toMatchObject({ allowed: false, decision: "refuse", enforced: false });
    });

    it("shakes hands, and says 403 with the whole verdict on refusal", async () => {
      const answer = await call(service, "/v1/handshake", { body: HANDSHAKE_BODY });
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ ...HANDSHAKE_BODY, decision: "connect" });
      expect(answer.json.a_to_b.subject).toBe(HANDSHAKE_BODY.counterparty);
      const body = { ...HANDSHAKE_BODY, counterparty: "agent://test/refuse" };
      const refused = await call(service, "/v1/handshake", { body });
      expect(refused.status).toBe(403);
      expect(refused.json.enforced).toBe(true);
      const key = await service.makeKey(["score:read"], { isShadow: true });
      const shadow = await call(service, "/v1/handshake", { key, body });
      expect(shadow.status, "nothing is held back in shadow mode").toBe(200);
      expect(shadow.json).toMatchObject({ decision: "refuse", enforced: false });
      expect(refused.headers.get("content-type")).toBe("application/json");
      expect(refused.json).toMatchObject({ ...body, decision: "refuse", connected: false });
      expect(refused.json.a_to_b.reasons).toHaveLength(1);
    });

    it("explains an agent named raw or percent-encoded", async () => {
      for (const id of ["agent://shop/seller/eu", "agent%3A%2F%2Fshop%2Fseller%2Feu"]) {
        const answer = await call(service, `/v1/agents/${id}`);
        expect([answer.status, answer.json.agent_id]).toEqual([200, "agent://shop/seller/eu"]);
        expect(answer.headers.get("cache-control")).toBe("no-store");
      }
      for (const id of [
        "agent://shop/",
        "agent://shop",
        "agent%ZZ",
        "agent%3A%2F%2Fshop%2F..%00",
      ]) {
        const problem = problemIn(await call(service, `/v1/agents/${id}`));
        expect(problem.code).toBe("invalid_parameter");
      }
    });
  });

  describe("outcomes", () => {
    it("answers 201, 200 for the repeat, 409 for the same id with another body", async () => {
      const body = { ...OUTCOME_BODY, id: "order-1" };
      const first = await call(service, "/v1/outcomes", { body });
      expect([first.status, first.json.duplicate]).toEqual([201, false]);
      const second = await call(service, "/v1/outcomes", { body });
      expect([second.status, second.json.duplicate]).toEqual([200, true]);
      expect(second.json.outcome_id).toBe(first.json.outcome_id);
      const third = await call(service, "/v1/outcomes", { body: { ...body, outcome: 0 } });
      expect([third.status, problemIn(third).code]).toEqual([409, "idempotency_conflict"]);
    });

    it("hands the exact bytes, the idempotency key and a valid traceparent on", async () => {
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      const bytes = ` ${JSON.stringify(OUTCOME_BODY)} `;
      const headers = { "idempotency-key": "k-1", traceparent };
      await call(service, "/v1/outcomes", { bytes, headers });
      const { call: context } = service.bureau.recorded.at(-1)!;
      expect(Buffer.from(context.body).toString()).toBe(bytes);
      expect([context.idempotencyKey, context.traceparent]).toEqual(["k-1", traceparent]);
      expect(context.principal.tenant).toBe("acme");
      await call(service, "/v1/outcomes", { bytes, headers: { traceparent: "00-zz" } });
      expect(service.bureau.recorded.at(-1)!.call.traceparent).toBeUndefined();
    });

    it("imports lines, reporting each line that was not taken", async () => {
      const lines = [
        JSON.stringify({ ...OUTCOME_BODY, settled_at: "2010-05-01T00:00:00Z" }),
        "",
        '{"subject":',
        `${JSON.stringify(OUTCOME_BODY)}\r`,
        JSON.stringify({ ...OUTCOME_BODY, outcome: 7, tenant: "", first_party: 1 }),
        JSON.stringify({ ...OUTCOME_BODY, tenant: "globex", first_party: false }),
        JSON.stringify({ ...OUTCOME_BODY, reporter: OUTCOME_BODY.subject }),
      ];
      const answer = await call(service, "/v1/outcomes/import?source=old%20books.csv", {
        key: service.admin,
        bytes: lines.join("\n"),
        headers: { "content-type": "application/x-ndjson" },
      });
      expect(answer.status).toBe(200);
      expect([answer.json.accepted, answer.json.duplicates]).toEqual([3, 0]);
      expect(
        answer.json.rejected.map((row: { line: number; code: string }) => [row.line, row.code]),
      ).toEqual([
        [3, "malformed_body"],
        [5, "invalid_request"],
        [7, "self_report"],
      ]);
      const pointers = answer.json.rejected[1].errors.map(
        (each: { pointer: string }) => each.pointer,
      );
      expect(pointers).toEqual(["/outcome", "/tenant", "/first_party"]);
      expect(service.bureau.imported.map((row) => row.source)).toEqual([
        "old books.csv",
        "old books.csv",
        "old books.csv",
      ]);
      expect(service.bureau.imported.at(-1)!.request).toMatchObject({
        tenant: "globex",
        first_party: false,
      });
    });
  });
});

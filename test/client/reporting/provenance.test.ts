// Provenance recorded after a transaction (SPEC §4.9): it reaches the service, and no turn, route or
// caller waits for it or fails because of it.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../../src/client/gateway/protect.ts";
import { type ProvenanceDrop, ProvenanceQueue } from "../../../src/client/reporting/provenance.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { type LiveService, startLiveService } from "../_live.ts";
import { rejection, verifyReply } from "../_replies.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const AGENT = "agent://test/connect";
const TEXT = "Wien, später: \u{1f980}";
const HASH = `sha256:${createHash("sha256").update(TEXT).digest("hex")}`;

let service: LiveService;
let client: TrustRankClient;
beforeAll(async () => {
  service = await startLiveService();
  client = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX });
});
afterAll(() => service.stop());

/** Records of that action as the analysts see them, once `count` of them are stored. */
async function stored(action: string, count: number): Promise<Record<string, unknown>[]> {
  const columns = "agent_id, content_hash, cited_sources, request_id";
  const sql = `SELECT ${columns} FROM provenance WHERE action = '${action}'`;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await service.call("POST", "/v1/query", { sql });
    const names = answer.columns.map(({ name }: { name: string }) => name);
    const rows = answer.rows.map((row: unknown[]) =>
      Object.fromEntries(row.map((value, at) => [names[at], value])),
    );
    if (rows.length >= count || attempt === 100) return rows;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("TrustRankClient.recordProvenance", () => {
  it("tells by hash or by text, which it hashes and does not send", async () => {
    const bodies: string[] = [];
    const watching: FetchLike = (url, init) => {
      bodies.push(init.body as string);
      return fetch(url, init);
    };
    const own = new TrustRankClient({ ...service, fetch: watching });
    const record = { agent_id: AGENT, action: "provenance.client", cited_sources: ["doc:1"] };
    await own.recordProvenance({ ...record, content: TEXT, request_id: "request-1" });
    await own.recordProvenance({ ...record, content_hash: HASH });
    expect(bodies.join("")).not.toContain("Wien");
    expect(await stored(record.action, 2)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ agent_id: AGENT, content_hash: HASH, request_id: "request-1" }),
        expect.objectContaining({ content_hash: HASH, request_id: null }),
      ]),
    );
  });

  it("says what is wrong with a record", async () => {
    const record = { agent_id: AGENT, action: "a.b", cited_sources: [] };
    const thrown = await rejection(client.recordProvenance({ ...record, content_hash: "md5:1" }));
    const errors = [{ pointer: "/content_hash" }];
    expect(thrown).toMatchObject({ code: "invalid_request", status: 400, errors });
  });
});

describe("a gateway", () => {
  const route = (fetch: FetchLike, provenance: unknown, drops: ProvenanceDrop[] = []) => {
    const own = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX, fetch });
    const gateway = new TrustGateway({
      client: own,
      follow: false,
      onProvenanceDrop: (drop) => void drops.push(drop),
    });
    const handler = protectRoute(() => new Response(TEXT), {
      gateway,
      toolLevel: "L1",
      action: "provenance.route",
      agentId: () => AGENT,
      provenance: provenance as never,
    });
    return { gateway, ask: () => handler(new Request("http://app/")) };
  };

  it("records what a route answered, with the verdict it was let through by", async () => {
    const { gateway, ask } = route(fetch, async (response: Response) => ({
      content: await response.text(),
      cited_sources: ["doc:1", "doc:2"],
    }));
    const response = await ask();
    expect(await response.text()).toBe(TEXT);
    // The text is read for the record in turns of its own, after the answer.
    while (gateway.provenance.counts.offered === 0) await new Promise(setImmediate);
    await gateway.provenance.flush(5000);
    expect(gateway.provenance.counts).toEqual({ offered: 1, sent: 1, dropped: 0, retried: 0 });
    const [row] = await stored("provenance.route", 1);
    expect(row).toMatchObject({ agent_id: AGENT, content_hash: HASH });
    expect(row?.["request_id"]).toEqual(expect.any(String));
  });

  it("answers at once, whatever becomes of the record", async () => {
    const hanging: FetchLike = async (url) =>
      url.endsWith("/verify") ? Response.json(verifyReply()) : new Promise(() => undefined);
    const told = () => ({ content_hash: HASH, cited_sources: [] });
    const drops: ProvenanceDrop[] = [];
    const slow = route(hanging, told, drops);
    expect(await (await slow.ask()).text()).toBe(TEXT);
    while (slow.gateway.provenance.counts.offered === 0) await new Promise(setImmediate);
    await slow.gateway.provenance.flush(10);
    expect(drops).toMatchObject([{ why: "no_time_left", record: { content_hash: HASH } }]);
    const boom = (): never => {
      throw new Error("boom");
    };
    for (const callback of [boom, async () => boom(), () => undefined]) {
      const { gateway, ask } = route(fetch, callback);
      expect(await (await ask()).text()).toBe(TEXT);
      expect(gateway.provenance.counts.offered).toBe(0);
    }
  });
});

describe("ProvenanceQueue", () => {
  it("tries again what the service cannot take now, and drops what it refuses", async () => {
    const statuses = [503, 429, 202, 400];
    const fetch: FetchLike = async () => {
      const status = statuses.shift() ?? 202;
      if (status === 202) return Response.json({ accepted: true }, { status });
      const headers = { "content-type": "application/problem+json" };
      return new Response('{"code":"invalid_request"}', { status, headers });
    };
    const own = new TrustRankClient({ baseUrl: "http://trust", fetch });
    const queue = new ProvenanceQueue({ client: () => own, pauseMs: 1 });
    const record = { agent_id: AGENT, action: "a.b", content_hash: HASH, cited_sources: [] };
    queue.offer(record);
    await queue.flush(5000);
    queue.offer(record);
    await queue.flush(5000);
    expect(queue.counts).toEqual({ offered: 2, sent: 1, dropped: 1, retried: 2 });
  });
});

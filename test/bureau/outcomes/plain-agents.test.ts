// Agents that are named by plain text, over both servers: what is reported about them is what every
// route reads, signed or not, alone, in batches and imported, and none is taken for another.
import { afterEach, describe, expect, it } from "vitest";
import { encodeMsgpack } from "../../../src/http/codec/msgpack.ts";
import { verifyJournal } from "../../../src/journal/verify.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  outcome,
  type SigningService,
} from "../../http/_signing.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { ADAPTERS } from "../../http/_setup.ts";

/** Plain texts of which none may be taken for another, nor for an agent with the form. */
const NAMES = ["support-bot", "plain:support-bot", "plain:plain:support-bot", "Zoë 🤖", " padded "];
const LONGEST = "é".repeat(256);

afterEach(closeServices);

const evidenceOf = async (service: SigningService, name: string) =>
  (await service.call("GET", `/v1/agents/${encodeURIComponent(name)}`)).json;

const verifyOf = (service: SigningService, name: string) =>
  service.call("POST", "/v1/trust/verify", {
    agent_id: name,
    action: "a.b",
    tool_level: "L2",
    context: {},
  });

describe.each(ADAPTERS)("plain agents over %s", (adapter) => {
  it("have a row of their own, which every route reads by the name as it was sent", async () => {
    const service = await openService({ adapter });
    for (const [index, name] of [...NAMES, LONGEST].entries()) {
      for (let n = 0; n <= index; n += 1) {
        const body = outcome({ subject: name, stakes: 10 + n });
        const { status, json } = await service.post("/v1/outcomes", body);
        expect([status, json.code]).toEqual([201, undefined]);
      }
    }
    for (const [index, name] of [...NAMES, LONGEST].entries()) {
      const explained = await evidenceOf(service, name);
      expect(explained).toMatchObject({
        agent_id: name,
        known: true,
        evidence: { outcomes: index + 1 },
      });
      const check = await service.call("POST", "/v1/check", { subject: name, stakes: 5 });
      expect(check.json).toMatchObject({ subject: name, tier: explained.tier });
      const both = await service.call("POST", "/v1/handshake", {
        initiator: name,
        counterparty: "agent://market/nobody",
        stakes: 5,
      });
      expect(both.json).toMatchObject({ initiator: name, b_to_a: { subject: name } });
      const verified = await verifyOf(service, name);
      expect(verified.json.trust_evaluation.internal_score).toBe(explained.internal_score);
    }
    for (const name of ["support", "agent://plain/support-bot", "support-bot "]) {
      expect(await evidenceOf(service, name)).toMatchObject({ agent_id: name, known: false });
    }
  });

  it("are reported in batches, lines, MessagePack, imports and under a signature", async () => {
    const service = await openService({ adapter, isStored: true });
    const [row, other] = [JSON.parse(outcome({ subject: "bot" })), JSON.parse(outcome({}))];
    const batch = JSON.stringify([row, other, { ...row, stakes: 11 }]);
    const lines = `${JSON.stringify(row)}\n${JSON.stringify({ ...row, subject: "é" })}\n`;
    const imported = { ...row, settled_at: NOW_MS - 1e9 };
    const replies = [
      await service.post("/v1/outcomes/batch", batch),
      await service.post("/v1/outcomes/batch", lines, undefined, "application/x-ndjson"),
      await service.post(
        "/v1/outcomes",
        new Uint8Array(encodeMsgpack(row)),
        undefined,
        "application/msgpack",
      ),
      await service.post(
        "/v1/outcomes/import",
        JSON.stringify(imported),
        undefined,
        "application/x-ndjson",
      ),
    ];
    const pair = newPair();
    await service.register(pair);
    replies.push(
      await service.post(
        "/v1/outcomes",
        JSON.stringify(row),
        await joseSignature(pair, JSON.stringify(row)),
      ),
      await service.post("/v1/outcomes/batch", batch, await joseSignature(pair, batch)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 201, 200, 201, 200]);
    expect((await evidenceOf(service, "bot")).evidence.outcomes).toBe(8);
    expect((await evidenceOf(service, "é")).evidence.outcomes).toBe(1);
    const sql =
      "SELECT subject, subject_namespace, count(*) AS n FROM outcomes GROUP BY ALL ORDER BY 3";
    const rows = async () => (await service.call("POST", "/v1/query", { sql })).json.rows;
    await expect.poll(rows, { timeout: WAIT_MS_MAX }).toEqual([
      ["é", "plain:", 1],
      ["agent://market/seller", "market", 2],
      ["bot", "plain:", 8],
    ]);
    const { dataDir } = service;
    await service.close();
    const report = verifyJournal(diskFileLayer, resolveDataPaths(dataDir).journal);
    expect(report).toMatchObject({ signatures: 2, forged: [] });
  });

  it("are the same after a restart, byte for byte", async () => {
    const first = await openService({ adapter });
    for (const name of NAMES) await first.post("/v1/outcomes", outcome({ subject: name }));
    const [digest, before] = [first.digest(), await evidenceOf(first, "support-bot")];
    const { dataDir } = first;
    await first.close();
    const second = await openService({ adapter, dataDir });
    expect(second.digest()).toBe(digest);
    expect(await evidenceOf(second, "support-bot")).toEqual(before);
  });

  it("are not what a slip in an agent identifier makes, and report about nobody", async () => {
    const service = await openService({ adapter });
    const refused = async (changes: object) => {
      const { status, json } = await service.post("/v1/outcomes", outcome({ ...changes }));
      return [status, json.errors?.[0]?.pointer];
    };
    for (const subject of ["agent://market", "agent://market/a b", "", "a\nb", `${LONGEST}x`]) {
      expect(await refused({ subject })).toEqual([400, "/subject"]);
    }
    expect(await refused({ subject: "bot", reporter: "support-bot" })).toEqual([400, "/reporter"]);
    const slip = await service.call("GET", `/v1/agents/${encodeURIComponent("agent://market")}`);
    expect([slip.status, slip.json.code]).toEqual([400, "invalid_parameter"]);
    expect((await evidenceOf(service, AGENT)).evidence.reported).toBe(0);
  });
});

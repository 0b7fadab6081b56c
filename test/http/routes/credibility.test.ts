// Graph of reporters over HTTP: of a real batch over a real journal, bounded, for operators alone.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { startService } from "../../../src/service/start.ts";
import type { Service } from "../../../src/service/start.ts";
import { AUDITOR, honestHistory, ringReports, SEEDS } from "../../kaizen/_market.ts";

const ADMIN_KEY = "credibility-graph-test-key-of-enough-length";
const ROUTE = "/v1/kaizen/credibility/graph";
const dataDir = mkdtempSync(join(tmpdir(), "credibility-http-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;

interface Graph {
  at?: string;
  reporters: number;
  nodes: { id: string; kind: string; mass: number; cluster: number; reports: number }[];
  edges: { from: number; to: number; mass: number }[];
}

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY, TRUSTRANK_SEEDS: SEEDS },
  );
  service = await startService(config, silent, () => undefined);
});
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function send(method: string, path: string, body?: string, key = ADMIN_KEY) {
  const type = path.endsWith("import") ? "application/x-ndjson" : "application/json";
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": type },
    body: body ?? null,
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

describe("the graph of reporters over HTTP", () => {
  it("is empty before a batch has found anything", async () => {
    expect(await send("GET", ROUTE)).toEqual({
      status: 200,
      body: { reporters: 0, nodes: [], edges: [] },
    });
    expect((await send("GET", `${ROUTE}?around=${encodeURIComponent(AUDITOR)}`)).status).toBe(404);
  });

  it("shows the last batch: auditors as seeds, buyers believed, the ring as strangers", async () => {
    const nowMs = Date.now();
    const lines = (list: readonly object[]) => list.map((each) => JSON.stringify(each)).join("\n");
    const history = lines([...honestHistory(nowMs), ...ringReports(nowMs, 0)]);
    expect((await send("POST", "/v1/outcomes/import", history)).status).toBe(200);
    const { body: batch } = await send("POST", "/v1/kaizen/credibility", "{}");
    const { body } = (await send("GET", ROUTE)) as { body: Graph };
    expect(body.at).toBe(batch.at);
    expect(body.reporters).toBe(batch.figures.reporters);
    const kindsOf = (prefix: string) => [
      ...new Set(body.nodes.filter(({ id }) => id.startsWith(prefix)).map(({ kind }) => kind)),
    ];
    expect(kindsOf("agent://audit/")).toEqual(["seed"]);
    expect(kindsOf("agent://buyer/")).toEqual(["believed"]);
    expect(kindsOf("agent://ring/")).toEqual(["stranger"]);
    expect(body.nodes.filter(({ kind }) => kind === "seed")).toHaveLength(batch.figures.seeds);
    for (const { from, to } of body.edges) {
      const [giver, taker] = [body.nodes[from]!.id, body.nodes[to]!.id];
      expect(giver.startsWith("agent://ring/")).toBe(taker.startsWith("agent://ring/"));
    }
    const around = encodeURIComponent("agent://ring/3");
    const near = (await send("GET", `${ROUTE}?around=${around}&limit=4`)) as { body: Graph };
    expect(near.body.nodes).toHaveLength(4);
    expect(near.body.nodes[0]!.id).toBe("agent://ring/3");
  }, 30_000);

  it("refuses what is out of bounds, and who may not", async () => {
    for (const limit of ["0", "501", "x", "-1"]) {
      const { status, body } = await send("GET", `${ROUTE}?limit=${limit}`);
      expect([status, body.code]).toEqual([400, "invalid_parameter"]);
    }
    const asked = JSON.stringify({ tenant: "acme", scopes: ["score:read"] });
    const { body: made } = await send("POST", "/v1/keys", asked);
    expect((await send("GET", ROUTE, undefined, made.key)).status).toBe(403);
  });
});

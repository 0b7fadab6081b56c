// A key is revoked as compromised while the real service answers on its pool and in place: every
// request is answered, every answer is that of the table before or of the table after, and after
// the re-fold both readers say what an agent without the excluded outcomes has.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { endAll, startCommand } from "../cli/_process.ts";
import { joseSignature, newPair, proofOf, SERVICE_ID } from "../http/_signing.ts";

const KEY = "refold-admin-key-0123456789abcdefghijkl";
/** Slandered by the key that will be revoked; its twin has the same history without that. */
const SLANDERED = "agent://refold/slandered";
const TWIN = "agent://refold/twin";
const DOUBTFUL = "agent://shop/doubtful";
const HISTORY = 40_000;
const ROWS = 1000;
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-refold-"));

afterAll(async () => {
  await endAll();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Where batches and single verifications of the service are scored. */
const ROUTES = ["/v1/trust/verify/batch", "/v1/trust/verify"] as const;

class Asker {
  readonly #url: string;
  readonly failures: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async ask(method: string, route: string, body: string, signature?: string): Promise<unknown> {
    const response = await fetch(this.#url + route, {
      method,
      headers: {
        authorization: `Bearer ${KEY}`,
        "content-type": "application/json",
        ...(signature === undefined ? {} : { "x-jws-signature": signature }),
      },
      body,
    });
    const text = await response.text();
    if (response.status > 201) this.failures.push(`${route}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  /** Scores of the slandered agent and its twin, of one table or of two single requests. */
  async look(route: (typeof ROUTES)[number]): Promise<[number, number]> {
    const item = (agent_id: string) => ({
      agent_id,
      action: "order.place",
      tool_level: "L1",
      context: {},
    });
    if (route === "/v1/trust/verify") {
      const one = await this.ask("POST", route, JSON.stringify(item(SLANDERED)));
      const other = await this.ask("POST", route, JSON.stringify(item(TWIN)));
      return [scoreOf(one), scoreOf(other)];
    }
    const body = JSON.stringify({ items: [item(SLANDERED), item(TWIN)] });
    const answer = await this.ask("POST", route, body);
    const { items = [] } = answer as { items?: { result: unknown }[] };
    if (items[1]?.result === undefined) this.failures.push(JSON.stringify(answer));
    return [scoreOf(items[0]?.result), scoreOf(items[1]?.result)];
  }
}

function scoreOf(verdict: unknown): number {
  const scored = verdict as { trust_evaluation: { internal_score: number } } | undefined;
  return scored?.trust_evaluation.internal_score ?? 0;
}

/** The same outcomes of both agents in turn, so that they differ by what comes later alone. */
function history(from: number, settledAt: number): string {
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const pair = Math.floor((from + i) / 2);
    return {
      subject: (from + i) % 2 === 0 ? SLANDERED : TWIN,
      reporter: `agent://crowd/${pair % 50}`,
      outcome: 1,
      stakes: 1 + (pair % 40),
      grade: "counterparty",
      settled_at: settledAt,
    };
  });
  return JSON.stringify(rows);
}

function slander(settledAt: number): string {
  const rows = Array.from({ length: 300 }, (_, i) => ({
    subject: SLANDERED,
    reporter: DOUBTFUL,
    outcome: 0,
    stakes: 10 + i,
    grade: "counterparty",
    settled_at: settledAt,
  }));
  return JSON.stringify(rows);
}

test("a re-fold under load: before or after, never anything else, never an error", async () => {
  const flags = ["--port", "0", "--scoring", "pool", "--no-sample", "--json"];
  const started = startCommand(["serve", ...flags, "--data-dir", dataDir], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_SERVICE_ID: SERVICE_ID,
    TRUSTRANK_DISK_RESERVE_MB: "1",
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  const asker = new Asker(url);
  const keys = `/v1/agents/${encodeURIComponent(DOUBTFUL)}/keys`;
  const pair = newPair();
  const { nonce } = (await asker.ask("POST", `${keys}/nonce`, "{}")) as { nonce: string };
  const proof = await proofOf(pair, nonce, SERVICE_ID);
  await asker.ask("PUT", keys, JSON.stringify({ jwk: pair.jwk, proof }));

  const settledAt = Date.now() - 60_000;
  for (let from = 0; from < HISTORY; from += ROWS) {
    await asker.ask("POST", "/v1/outcomes/batch", history(from, settledAt));
  }
  const compromisedSince = Date.now();
  const lies = slander(settledAt);
  const signature = await joseSignature(pair, lies, {}, Date.now());
  await asker.ask("POST", "/v1/outcomes/batch", lies, signature);
  const [before, twin] = await asker.look("/v1/trust/verify/batch");
  expect(asker.failures).toEqual([]);
  expect(before).toBeLessThan(twin - 20);

  const seen = new Map(ROUTES.map((route) => [route, [] as number[]]));
  let isOver = false;
  const watching = [0, 1, 2, 3].map(async (number) => {
    const route = ROUTES[number % ROUTES.length]!;
    while (!isOver && asker.failures.length === 0) {
      seen.get(route)!.push((await asker.look(route))[0]);
    }
  });
  const revocation = { kid: pair.kid, compromised_since: compromisedSince };
  await asker.ask("POST", `${keys}/revoke`, JSON.stringify(revocation));
  for (const route of ROUTES) {
    const last = () => [asker.failures, (seen.get(route)!.at(-1) ?? 0) > before + 10];
    await expect.poll(last).toEqual([[], true]);
  }
  // Outcomes are taken all the while, and count for both.
  await asker.ask("POST", "/v1/outcomes/batch", history(HISTORY, settledAt));
  isOver = true;
  await Promise.all(watching);

  expect(asker.failures).toEqual([]);
  const near = (score: number, wanted: number) => Math.abs(score - wanted) <= 2;
  for (const [route, scores] of seen) {
    expect(
      scores.some((score) => near(score, before)),
      `${route} before`,
    ).toBe(true);
    const odd = scores.filter((score) => !near(score, before) && !near(score, twin));
    expect(odd, route).toEqual([]);
    const [slandered, same] = await asker.look(route);
    expect(near(slandered, same), `${route}: ${slandered} and ${same}`).toBe(true);
  }
});

// Checks of sections 8 and 9: limits and versions (see _lines-limits.ts).
import { expect } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../src/client/gateway/protect.ts";
import { answerHeaders } from "../../src/client/ruling.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../src/contract/vocabulary.ts";
import { ROUTES } from "../../src/http/routes/table.ts";
import { readFileSync } from "node:fs";
import {
  ask,
  importHistory,
  type LineChecks,
  type LineSetting,
  newAgent,
  openClient,
  SAMPLE_AGENTS,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import { VERIFY } from "./_line-requests.ts";
import { authorize, openGateway, SILENCE, underFault } from "./_line-gateway.ts";
import { AGENTS } from "./_world.ts";

const { connect, refuse } = TEST_AGENTS;
const buildBody = (agent_id: string, tool_level: ToolLevel = "L2") => ({
  agent_id,
  action: "order.place",
  tool_level,
});

/** What a silent service comes to at a level. */
const atLevel = (setting: LineSetting, level: ToolLevel) =>
  underFault(setting, SILENCE, async ({ gateway, logs }) => {
    const { allowed, word, status } = await authorize(gateway, level);
    return { allowed, word, status, logged: logs.length > 0 };
  });

/** Cells of the first row of the page that begins so. */
function findRow(results: string, subject: string): string {
  const line = results.split("\n").find((each) => each.startsWith(`| ${subject}`));
  if (line === undefined) throw new Error(`bench/RESULTS.md has no row ${subject}`);
  return line;
}
const numberIn = (text: string, pattern: RegExp): number =>
  Number(pattern.exec(text)?.[1]?.replaceAll(",", "") ?? Number.NaN);

export const LIMIT_CHECKS: Readonly<Record<string, LineChecks>> = {
  "8.1-timeout": {
    async client(setting) {
      expect(new TrustRankClient({ baseUrl: setting.world.urls[0] }).timeoutMs).toBe(100);
      await underFault(setting, SILENCE, async ({ gateway }) => {
        expect((await authorize(gateway, "L2")).error?.code).toBe("timeout");
      });
    },
  },
  "8.1-policy": {
    async client(setting) {
      for (const kind of ["silence", "refused", "garbage", "half_body"] as const) {
        const allowed = await underFault(setting, { kind }, async ({ gateway }) => {
          const answers = TOOL_LEVELS.map((level) => authorize(gateway, level));
          return (await Promise.all(answers)).map((answer) => answer.allowed);
        });
        expect(allowed, kind).toEqual([true, true, false, false]);
      }
      const unknown = await underFault(setting, SILENCE, async ({ gateway }) =>
        authorize(gateway, "L7" as never),
      );
      expect(unknown).toMatchObject({ allowed: false, failPolicy: "L3_closed" });
    },
  },
  "8.1-L3": {
    client: async (setting) => {
      expect(await atLevel(setting, "L3")).toEqual({
        allowed: false,
        word: "BLOCK",
        status: 503,
        logged: true,
      });
    },
  },
  "8.1-L2": {
    client: async (setting) => {
      expect(await atLevel(setting, "L2")).toEqual({
        allowed: false,
        word: "BLOCK",
        status: 503,
        logged: true,
      });
    },
  },
  "8.1-L1": {
    client: async (setting) => {
      expect(await atLevel(setting, "L1")).toEqual({
        allowed: true,
        word: "ALLOW",
        status: 200,
        logged: true,
      });
    },
  },
  "8.1-L0": {
    client: async (setting) => {
      expect(await atLevel(setting, "L0")).toEqual({
        allowed: true,
        word: "ALLOW",
        status: 200,
        logged: false,
      });
    },
  },
  "8.2-allowed": {
    async all(door) {
      for (const agent of [AGENTS.failing, SAMPLE_AGENTS[2], refuse, TEST_AGENTS.hallucinated])
        for (const level of ["L0", "L1"] as const)
          expect((await ask(door, agent, level)).policy_action.verdict, `${agent} ${level}`).toBe(
            "ALLOW",
          );
    },
    async client({ world }) {
      // Also where the gateway has a name of its own, and so shakes hands first.
      const client = openClient(world, () => undefined, AGENTS.viewer);
      const gateway = new TrustGateway({ client, onFlagged: () => undefined });
      for (const agent of [SAMPLE_AGENTS[2], refuse]) {
        const guarded = protectRoute(() => new Response("data"), {
          gateway,
          toolLevel: "L1",
          action: "calendar.read",
          agentId: () => agent,
        });
        const reply = await guarded(new Request("http://app/"));
        expect([reply.status, reply.headers.get("x-trust-flagged")], agent).toEqual([200, "true"]);
      }
    },
  },
  "8.2-logged": {
    async HTTP(setting) {
      const subject = newAgent();
      await importHistory(setting, subject, Array<0 | 1>(40).fill(0));
      const { json } = await send(setting, "POST", VERIFY, buildBody(subject, "L1"));
      await expect
        .poll(
          async () =>
            (await send(setting, "GET", `/v1/decisions/${json.request_id}`)).json.legs?.[0],
        )
        .toMatchObject({ subject, flagged: true, verdict: "ALLOW", inputs: expect.any(Array) });
    },
    async client(setting) {
      const { gateway, logs } = openGateway(setting);
      const answer = await authorize(gateway, "L1", AGENTS.failing);
      expect(answer).toMatchObject({ allowed: true, flagged: true });
      expect(answerHeaders(answer)["X-Trust-Flagged"]).toBe("true");
      expect(logs).toMatchObject([
        { kind: "low_score_allowed", agentId: AGENTS.failing, toolLevel: "L1" },
      ]);
    },
  },
  "8.2-flagged": {
    async all(door) {
      const { policy_action: policy } = await ask(door, AGENTS.failing, "L1");
      expect(policy).toEqual({ verdict: "ALLOW", log_reason: "DENIAL_FLAGGED_FOR_REVIEW" });
    },
    async HTTP(setting) {
      const subject = newAgent();
      await importHistory(setting, subject, Array<0 | 1>(40).fill(0));
      const { json } = await send(setting, "POST", VERIFY, buildBody(subject, "L1"));
      const find = async () => {
        const { json: queue } = await send(setting, "GET", "/v1/reviews?limit=100");
        return queue.reviews.find(
          ({ request_id: id }: { request_id: string }) => id === json.request_id,
        );
      };
      await expect.poll(find).toMatchObject({ subject, tool_level: "L1", resolution: null });
    },
  },
  "8.3-lifetime": {
    async all(door) {
      const answers = [
        await ask(door, SAMPLE_AGENTS[0]),
        await door.check(SAMPLE_AGENTS[0], 1),
        await door.handshake(AGENTS.viewer, SAMPLE_AGENTS[0], 1),
      ];
      for (const { evaluated_at: from, expires_at: to } of answers)
        expect(Date.parse(to) - Date.parse(from)).toBe(300_000);
    },
    async HTTP(setting) {
      const { headers } = await send(setting, "POST", VERIFY, buildBody(connect));
      expect(headers.get("cache-control")).toBe("private, max-age=300");
    },
  },
  "8.3-re-verified": {
    async client(setting) {
      let nowMs = 1e6;
      const { gateway } = openGateway(setting, {
        cache: { ttlMs: 3_600_000 },
        monotonic: () => nowMs,
      });
      for (const toolLevel of ["L2", "L3"] as const) {
        await authorize(gateway, toolLevel, SAMPLE_AGENTS[0]);
        nowMs += 300_001;
        const { asked } = gateway.counts;
        await authorize(gateway, toolLevel, SAMPLE_AGENTS[0]);
        expect(gateway.counts.asked).toBe(asked + 1);
      }
    },
  },
  "8.4-latency": {
    figures(results) {
      const row = findRow(results, "verify at 10,000/s offered");
      expect(numberIn(row, /p99 ([\d.]+)/)).toBeLessThan(100);
    },
    async client({ world }) {
      expect(new TrustRankClient({ baseUrl: world.urls[0] }).timeoutMs).toBeLessThanOrEqual(100);
    },
  },
  "8.4-throughput": {
    figures(results) {
      const row = findRow(results, "verify, saturated server");
      expect(numberIn(row, /allowed ([\d,]+)\/s/)).toBeGreaterThan(10_000);
      expect(numberIn(row, /denied ([\d,]+)\/s/)).toBeGreaterThan(10_000);
    },
  },
  "8.4-hit-rate": {
    figures(results) {
      const paid = numberIn(
        findRow(results, "paid reads per request"),
        /\| (\.\d+) with one read for all levels/,
      );
      expect(1 - paid).toBeGreaterThan(0.85);
      const direct = numberIn(
        findRow(results, "client cache"),
        /\| ([\d.]+) % of checks answered locally/,
      );
      expect(direct).toBeGreaterThan(70);
    },
  },
  "8.4-false-positives": {
    figures(results) {
      const row = findRow(results, "false positives");
      expect(row).toContain("eval:verdicts");
      const denied = numberIn(row, /([\d.]+) % of good outcomes denied/);
      expect(denied).toBeLessThan(0.1);
      const refused = [/([\d.]+) % answered 403 at L2/, /([\d.]+) % at L3/].map((each) =>
        numberIn(row, each),
      );
      expect(Math.min(...refused), "every 403, far above the promise").toBeGreaterThan(denied);
    },
  },
  "8.5-limits": {
    async HTTP(setting) {
      const large = { ...buildBody(connect), context: { content: "x".repeat(70_000) } };
      const { status, json } = await send(setting, "POST", VERIFY, large);
      expect([status, json.code]).toEqual([413, "body_too_large"]);
      const items = Array.from({ length: 1001 }, () => buildBody(connect));
      expect((await send(setting, "POST", "/v1/trust/verify/batch", { items })).status).toBe(400);
    },
  },
  "9-prefix": {
    async HTTP(setting) {
      const others = new Set(
        ROUTES.map(({ path }) => path).filter((path) => !path.startsWith("/v1/")),
      );
      for (const path of others)
        expect(path).toMatch(
          /^\/(healthz|livez|readyz|metrics|docs|console|openapi\.json|access\/v1|\.well-known|favicon|assets|$)/,
        );
      expect((await send(setting, "POST", "/trust/verify", buildBody(connect))).status).toBe(404);
      expect((await send(setting, "POST", "/v2/trust/verify", buildBody(connect))).status).toBe(
        404,
      );
    },
  },
  "9-client": {
    async client() {
      const manifest = new URL("../../clients/typescript/package.json", import.meta.url);
      const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
      expect(version).toBe("0.1.0");
    },
  },
  "9-compatibility": {
    async HTTP(setting) {
      const { status } = await send(setting, "POST", VERIFY, {
        ...buildBody(connect),
        added_later: true,
      });
      expect(status, "members that are not known are ignored").toBe(200);
    },
  },
};

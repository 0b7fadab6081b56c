// Tests of a gateway program with its example configuration, on the service itself: processes of their own, with
// nothing between. First what all agents get at all levels, then the same while the service hangs (SIGSTOP), then
// while it is gone (SIGKILL). The tests of a suite build on each other: the nodes are started once.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import { rowsUnder } from "../docs/_tables.ts";
import { sendRaw, statusesOf } from "../http/_setup.ts";
import { needs } from "../_needs.ts";
import { PATHS, type Program, TIMES } from "./_edge.ts";
import { addNewcomers, type GatewayOnNodes, NEWCOMERS, openOnNodes, VERDICTS } from "./_nodes.ts";

/** Of the 100 ms that a gateway waits, how much later an end client may have its answer. */
const LATEST = 1.5;

/** Defines the tests of `program` on one node and on two. */
export function describeOnNodes(program: Program): void {
  describe.each([1, 2] as const)("on the service itself: %s nodes", needs(program), (nodeCount) => {
    let edge: GatewayOnNodes;
    beforeAll(async () => {
      edge = await openOnNodes(program, { nodeCount, change: addNewcomers });
    });
    afterAll(() => edge?.stop());
    beforeEach(() => {
      edge.app.answer = 200;
      edge.reached.length = 0;
    });

    const statusAt = async (level: keyof typeof PATHS, agent: string) => {
      const response = await edge.ask(PATHS[level], agent);
      await response.arrayBuffer();
      return response.status;
    };
    const isBack = () => expect.poll(() => statusAt("L3", "connect"), { interval: 100 }).toBe(200);

    it("gives four agents at four levels what the guide's table says", async () => {
      await isBack();
      const names = { connect: "allowed", refuse: "denied", newcomer: "challenged" };
      const seen: string[] = [];
      for (const [agent, name] of Object.entries(names)) {
        for (const level of TOOL_LEVELS) seen.push(await rowOf(edge, name, level, agent));
      }
      expect(seen).toEqual(await guideRows(Object.values(names)));
      const statuses: Record<string, number[]> = {};
      for (const agent of Object.keys(VERDICTS)) {
        statuses[agent] = [];
        for (const level of TOOL_LEVELS) statuses[agent].push(await statusAt(level, agent));
      }
      expect(statuses).toEqual(VERDICTS);
    });

    it("closes at every level for a name that is no agent's", async () => {
      for (const level of TOOL_LEVELS) {
        const { status } = await edge.ask(PATHS[level], "mistaken");
        expect([level, status, edge.reached]).toEqual([level, 403, []]);
      }
    });

    it("stops a caller that it does not know, and one in quarantine", async () => {
      const stranger = await edge.ask(PATHS.L0, undefined);
      const escalated = await edge.ask(PATHS.L2, "escalate");
      expect([stranger.status, escalated.status, edge.reached]).toEqual([401, 403, []]);
      expect(escalated.headers.get("x-trust-verdict")).toBe("QUARANTINE");
    });

    it("is not talked into a lower level by the way a path is written", async () => {
      const { host: address, port } = new URL(edge.base);
      const spellings = ["/public/../pay", "/public/%2e%2e/pay", "/public/%2e%2e%2fpay", "//pay"];
      const token = "Authorization: Bearer token-of-refuse";
      const head = `Host: ${address}\r\nConnection: close\r\n${token}`;
      for (const path of [...spellings, "/info/..%2f/edit/a", "/PUBLIC/a"]) {
        const lines = [`GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`];
        const { text } = await sendRaw(Number(port), lines, { until: "closed" });
        expect([path, statusesOf(text)[0]! >= 400]).toEqual([path, true]);
      }
      expect(edge.reached).toEqual([]);
    });

    it("tells the application who calls, whatever the client claims", async () => {
      const forged = {
        "X-Trust-Agent-Id": "agent://test/connect",
        "X-Trust-Tool-Level": "L0",
        "X-Trust-Verdict": "forged",
        "X-Trust-Score": "forged",
        "X-Trust-Flagged": "forged",
        "X-Trust-Degraded": "forged",
        X_Trust_Agent_Id: "forged",
      };
      const refused = await edge.ask(PATHS.L3, "refuse", { headers: forged });
      expect([refused.status, edge.reached.length]).toEqual([403, 0]);
      const allowed = await edge.ask(PATHS.L1, "refuse", { headers: forged });
      expect(allowed.status).toBe(200);
      const [seen] = edge.reached;
      expect(seen?.headers["x-trust-agent-id"]).toBe("agent://test/refuse");
      expect(seen?.headers["x-trust-verdict"]).toBe("ALLOW");
      expect(Object.values(seen!.headers)).not.toContain("forged");
      expect(seen?.headers["x-trust-tool-level"]).toBeUndefined();
      expect(seen?.headers["x-trust-flagged"]).toBe("true");
      expect((await edge.ask(PATHS.L1, "connect", { headers: forged })).status).toBe(200);
      expect(edge.reached[1]?.headers["x-trust-flagged"], "only what was flagged").toBeUndefined();
    });

    it("passes method, query and body of what it allowed on", async () => {
      const options = { method: "POST", body: "payload" };
      expect((await edge.ask("/edit/a?x=1&tool_level=L0", "connect", options)).status).toBe(200);
      expect(edge.reached).toMatchObject([{ method: "POST", url: "/edit/a?x=1&tool_level=L0" }]);
    });

    it("does not take the application's own failure for TrustRank's", async () => {
      edge.app.answer = 500;
      expect((await edge.ask(PATHS.L1, "connect")).status).toBe(500);
      edge.app.answer = "reset";
      edge.reached.length = 0;
      // On a connection of its own: on one used before HAProxy ends it without an answer.
      const { host, port } = new URL(edge.base);
      const head = `POST ${PATHS.L1} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nConnection: close\r\n`;
      const lines = [`${head}Authorization: Bearer token-of-connect\r\n\r\nonce`];
      const { text } = await sendRaw(Number(port), lines, { until: "closed" });
      expect(statusesOf(text)).toEqual([502]);
      expect(text.toLowerCase()).not.toContain("x-trust-degraded");
      expect(edge.reached).toHaveLength(1);
    });

    it("closes or opens at the limit while the service hangs", async () => {
      await isBack();
      for (const node of edge.nodes) node.freeze();
      const seen: string[] = [];
      const times: number[] = [];
      for (const level of TOOL_LEVELS) {
        const startedAt = performance.now();
        seen.push(await rowOf(edge, "service slow", level, "connect"));
        times.push(performance.now() - startedAt);
      }
      for (const node of edge.nodes) node.thaw();
      expect(seen).toEqual(await guideRows(["service slow"]));
      expect(Math.max(...times), String(times)).toBeLessThan(TIMES.budgetMs * LATEST);
      // Once it answers again, nothing of that is left.
      await isBack();
      expect(await statusAt("L3", "refuse")).toBe(403);
    });

    it("asks who is left when a node is killed", async () => {
      const before = await Promise.all(edge.nodes.map((node) => node.countAsked()));
      const askAll = async () => {
        const asked = NEWCOMERS.map(async (agent) => {
          const response = await edge.ask(PATHS.L3, agent);
          await response.arrayBuffer();
          return [response.status, response.headers.get("x-trust-degraded")];
        });
        return Promise.all(asked);
      };
      const denied = NEWCOMERS.map(() => [403, null]);
      // A node that hung before is left alone for a moment.
      const areAllAsked = async () => {
        expect(await askAll()).toEqual(denied);
        const counts = await Promise.all(edge.nodes.map((node) => node.countAsked()));
        return counts.every((count, at) => count > before[at]!);
      };
      await expect.poll(areAllAsked, { interval: 100 }).toBe(true);
      const during = askAll();
      await edge.nodes[0]!.end("SIGKILL");
      const ofTwo = await during;
      const left = nodeCount === 2 ? denied : NEWCOMERS.map(() => [503, "L3_closed"]);
      // What was asked of the only node before it was dead has its verdict.
      expect(nodeCount === 2 ? ofTwo : left).toEqual(left);
      for (let at = 0; at < 5; at += 1) expect(await askAll()).toEqual(left);
    });

    it("closes or opens at once while the service is gone", async () => {
      await Promise.all(edge.nodes.map((node) => node.end("SIGKILL")));
      const seen: string[] = [];
      const times: number[] = [];
      for (const level of TOOL_LEVELS) {
        const startedAt = performance.now();
        seen.push(await rowOf(edge, "service down", level, "connect"));
        times.push(performance.now() - startedAt);
      }
      expect(seen).toEqual(await guideRows(["service down"]));
      expect(Math.max(...times), String(times)).toBeLessThan(TIMES.budgetMs);
    });

    it("leaves a trace of every answer without a verdict", async () => {
      for (const level of TOOL_LEVELS) await (await edge.ask(PATHS[level], "connect")).text();
      const marks = edge.reached.map(({ headers }) => headers["x-trust-degraded"]);
      expect(marks).toEqual(["L0_open", "L1_open"]);
      if (program === "caddy") return;
      const logged = async () => {
        const lines = (await edge.readFile("trust.log")).trimEnd().split("\n").slice(-4);
        const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
        return entries.map((entry) => [entry["degraded"], entry["status"], entry["agent"]]);
      };
      // A line is written after the answer.
      await expect.poll(logged).toEqual([
        ["L0_open", 200, "agent://test/connect"],
        ["L1_open", 200, "agent://test/connect"],
        ["L2_closed", 503, "agent://test/connect"],
        ["L3_closed", 503, "agent://test/connect"],
      ]);
    });

    it("passes method, query and body on, and marks what it let through unchecked", async () => {
      const options = { method: "POST", body: "payload" };
      await edge.ask("/info/b?y=2&tool_level=L0", "connect", options);
      expect(edge.reached).toMatchObject([{ method: "POST", url: "/info/b?y=2&tool_level=L0" }]);
      expect(edge.reached[0]?.headers["x-trust-degraded"]).toBe("L1_open");
    });
  });
}

/** A row of the guide's table, as an end client sees it. */
async function rowOf(
  edge: GatewayOnNodes,
  name: string,
  level: keyof typeof PATHS,
  agent: string,
): Promise<string> {
  edge.reached.length = 0;
  const response = await edge.ask(PATHS[level], agent);
  await response.arrayBuffer();
  const reached = edge.reached.length === 0 ? "not asked" : "asked";
  return [name, level, response.status, reached, shownHeaders(response.headers)].join(" | ");
}

/** What TrustRank's answer, or its absence, adds to the answer of an end client. */
const SHOWN = [
  "X-Trust-Verdict",
  "X-Trust-Reason",
  "X-Trust-Request-Id",
  "X-Trust-Flagged",
  "X-Trust-Degraded",
  "Retry-After",
  "Cache-Control",
];

/** They and every other `X-Trust-` header, as the guide writes them; an identifier is any. */
function shownHeaders(headers: Headers): string {
  const known = SHOWN.filter((name) => headers.has(name)).map((name) => {
    return name === "X-Trust-Request-Id" ? `\`${name}\`` : `\`${name}: ${headers.get(name)}\``;
  });
  const isKnown = (name: string) => SHOWN.some((shown) => shown.toLowerCase() === name);
  const others = [...headers.keys()].filter(
    (name) => name.startsWith("x-trust-") && !isKnown(name),
  );
  return [...known, ...others].join(", ");
}

/** Rows of the guide's table, in its order, one for each level. */
async function guideRows(names: readonly string[]): Promise<string[]> {
  const page = await readFile(new URL("../../docs/guide/gateways.md", import.meta.url), "utf8");
  return rowsUnder(page, "## What end clients get")
    .filter(([name]) => names.includes(name!))
    .flatMap(([name, levels, ...rest]) =>
      levels!.split(", ").map((level) => [name, level, ...rest].join(" | ")),
    );
}

// Tests of a gateway program with its example configuration of examples/gateways, on loopback, in front
// of a real upstream: what end clients get, and the conformance suite's whole table. One file for each
// program calls them, because they mostly wait: the waits then pass at once.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Fault } from "../../src/client/conformance/fault-proxy.ts";
import { conformanceTable, runConformance } from "../../src/client/conformance/suite.ts";
import { TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import { rowsUnder } from "../docs/_tables.ts";
import { sendRaw, statusesOf } from "../http/_setup.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { type Edge, openEdge, PATHS, type Program, TIMES } from "./_edge.ts";
import { needs } from "../_needs.ts";

/** How long a gateway leaves a node alone that failed, and a check more. */
const REMEMBERED_MS = 2500;
/** Faults after which it asks the other node; Caddy takes a status for an answer, and remembers it. */
const FAULTS_OF_A_NODE = {
  nginx: ["silence", "refused", "reset", "status"],
  haproxy: ["silence", "refused", "reset", "status"],
  caddy: ["silence", "refused", "reset"],
} as const;

/** Defines the tests of `program`. */
export function describeProgram(program: Program): void {
  // Skipped without the program: the title says what to install.
  describe("from the Debian package of that name", needs(program), () => {
    let edge: Edge;
    beforeAll(async () => {
      edge = await openEdge(program);
    });
    afterAll(() => edge?.stop());
    beforeEach(async () => {
      await edge.proxy.set({ kind: "none" });
      edge.app.answer = 200;
      // A node that failed is left alone for a second.
      await expect.poll(() => statusAt(edge, PATHS.L3), { timeout: WAIT_MS_MAX }).toBe(200);
      edge.reached.length = 0;
    });

    it("gives end clients what the guide's table says", async () => {
      const beyondMs = TIMES.budgetMs + TIMES.marginMs;
      const cases: [string, string, Fault][] = [
        ["allowed", "connect", { kind: "none" }],
        ["denied", "refuse", { kind: "none" }],
        ["challenged", "newcomer", { kind: "none" }],
        ["service down", "connect", { kind: "refused" }],
        ["service slow", "connect", { kind: "delay", ms: beyondMs }],
      ];
      const seen: string[] = [];
      for (const [name, agent, fault] of cases) {
        await edge.proxy.set(fault);
        for (const level of TOOL_LEVELS) {
          edge.reached.length = 0;
          const response = await edge.ask(PATHS[level], agent);
          await response.arrayBuffer();
          const reached = edge.reached.length === 0 ? "not asked" : "asked";
          const headers = shownHeaders(response.headers);
          seen.push([name, level, response.status, reached, headers].join(" | "));
        }
      }
      expect(seen).toEqual(await guideRows());
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

    // A machine that stands still for a moment passes a limit; a gateway that breaks the policy does so again.
    it("holds the fail policy under every conformance fault", { retry: 2 }, async () => {
      const rows = await runConformance(edge.subject, TIMES);
      const failing = rows.filter(({ faults }) => faults.length > 0);
      expect(conformanceTable(failing)).toBe("");
      expect(rows).toHaveLength(60);
    });

    it.each(FAULTS_OF_A_NODE[program])(
      "asks the other node when one is at fault: %s",
      async (kind) => {
        // Both are there, and no fault of before is remembered.
        await new Promise((resolve) => setTimeout(resolve, REMEMBERED_MS));
        const counts = edge.nodes.map(({ count }) => count);
        for (let at = 0; at < 3; at += 1) expect(await statusAt(edge, PATHS.L3)).toBe(200);
        const added = edge.nodes.map(({ count }, at) => count - counts[at]!);
        // Its node: the other one is asked at most by who looks after it.
        const own = edge.nodes[added[0]! > added[1]! ? 0 : 1]!;
        await own.set(kind === "status" ? { kind, status: 503 } : { kind });
        for (const agent of ["connect", "refuse", "escalate"]) {
          const response = await edge.ask(PATHS.L3, agent);
          await response.arrayBuffer();
          const seen = [agent, response.status, response.headers.get("x-trust-degraded")];
          expect(seen).toEqual([agent, agent === "connect" ? 200 : 403, null]);
        }
      },
    );

    it("leaves a trace of every answer without a verdict", async () => {
      await edge.proxy.set({ kind: "refused" });
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

    it("passes method, query and body on, and marks what it let through unchecked", async () => {
      const options = { method: "POST", body: "payload" };
      expect((await edge.ask("/edit/a?x=1&tool_level=L0", "connect", options)).status).toBe(200);
      expect(edge.reached).toMatchObject([{ method: "POST", url: "/edit/a?x=1&tool_level=L0" }]);
      await edge.proxy.set({ kind: "refused" });
      await edge.ask("/info/b?y=2", "connect", options);
      expect(edge.reached[1]).toMatchObject({ method: "POST", url: "/info/b?y=2" });
      expect(edge.reached[1]?.headers["x-trust-degraded"]).toBe("L1_open");
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
  });
}

async function statusAt(edge: Edge, path: string): Promise<number> {
  const response = await edge.ask(path, "connect");
  await response.arrayBuffer();
  return response.status;
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

/** The guide's table with one row for each level. */
async function guideRows(): Promise<string[]> {
  const page = await readFile(new URL("../../docs/guide/gateways.md", import.meta.url), "utf8");
  return rowsUnder(page, "## What end clients get").flatMap(([name, levels, ...rest]) =>
    levels!.split(", ").map((level) => [name, level, ...rest].join(" | ")),
  );
}

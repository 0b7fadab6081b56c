// Tests of a gateway program with its example configuration of examples/gateways, on loopback, in front
// of a real upstream: what end clients get, and the conformance suite's whole table. One file for each
// program calls them, because they mostly wait: the two waits then pass at once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { conformanceTable, runConformance } from "../../src/client/conformance/suite.ts";
import { TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import { sendRaw, statusesOf } from "../http/_setup.ts";
import { type Edge, isInstalled, openEdge, PATHS, TIMES } from "./_edge.ts";

/** Defines the tests of `program`. */
export function describeProgram(program: "nginx" | "caddy"): void {
  // Skipped without the program: the title says what to install.
  describe.skipIf(!isInstalled(program))("from the Debian package of that name", () => {
    let edge: Edge;
    beforeAll(async () => {
      edge = await openEdge(program);
    });
    afterAll(() => edge?.stop());
    beforeEach(async () => {
      await edge.proxy.set({ kind: "none" });
      edge.app.answer = 200;
      edge.reached.length = 0;
    });

    it("gives end clients what the table says", async () => {
      const rows: string[] = [];
      const row = async (when: string, path: string, agent: string | undefined) => {
        edge.reached.length = 0;
        const response = await edge.ask(path, agent);
        await response.arrayBuffer();
        const shown = ["x-trust-verdict", "x-trust-reason", "x-trust-degraded", "retry-after"];
        const headers = shown.map((header) => response.headers.get(header) ?? "-");
        const reached = edge.reached.length === 0 ? "stopped" : "reached";
        rows.push([when, path, response.status, reached, ...headers].join(" | "));
      };
      await row("trusted", PATHS.L3, "connect");
      await row("escalated", PATHS.L2, "escalate");
      await row("refused", PATHS.L3, "refuse");
      await row("refused", PATHS.L1, "refuse");
      await row("unknown caller", PATHS.L0, undefined);
      const beyondMs = TIMES.budgetMs + TIMES.marginMs;
      for (const fault of [{ kind: "refused" }, { kind: "delay", ms: beyondMs }] as const) {
        await edge.proxy.set(fault);
        const when = fault.kind === "refused" ? "service down" : "service slow";
        for (const level of TOOL_LEVELS) await row(when, PATHS[level], "connect");
      }
      expect(rows).toEqual([
        "trusted | /pay | 200 | reached | - | - | - | -",
        "escalated | /edit/a | 403 | stopped | QUARANTINE | RISK_ABOVE_BORDER | - | -",
        "refused | /pay | 403 | stopped | BLOCK | REFUSE_RULE | - | -",
        "refused | /info/a | 200 | reached | - | - | - | -",
        "unknown caller | /public/a | 401 | stopped | - | - | - | -",
        "service down | /public/a | 200 | reached | - | - | L0_open | -",
        "service down | /info/a | 200 | reached | - | - | L1_open | -",
        "service down | /edit/a | 503 | stopped | - | - | L2_closed | 1",
        "service down | /pay | 503 | stopped | - | - | L3_closed | 1",
        "service slow | /public/a | 200 | reached | - | - | L0_open | -",
        "service slow | /info/a | 200 | reached | - | - | L1_open | -",
        "service slow | /edit/a | 503 | stopped | - | - | L2_closed | 1",
        "service slow | /pay | 503 | stopped | - | - | L3_closed | 1",
      ]);
    });

    it("holds the fail policy under every conformance fault", async () => {
      const rows = await runConformance(edge.subject, TIMES);
      const failing = rows.filter(({ faults }) => faults.length > 0);
      expect(conformanceTable(failing)).toBe("");
      expect(rows).toHaveLength(60);
    });

    it("leaves a trace of every answer without a verdict", async () => {
      await edge.proxy.set({ kind: "refused" });
      for (const level of TOOL_LEVELS) await (await edge.ask(PATHS[level], "connect")).text();
      const marks = edge.reached.map(({ headers }) => headers["x-trust-degraded"]);
      expect(marks).toEqual(["L0_open", "L1_open"]);
      if (program !== "nginx") return;
      const lines = (await edge.readFile("trust.log")).trimEnd().split("\n").slice(-4);
      const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(logged.map((entry) => [entry["degraded"], entry["status"], entry["agent"]])).toEqual([
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
        "X-Trust-Verdict": "ALLOW",
        "X-Trust-Degraded": "no",
      };
      const refused = await edge.ask(PATHS.L3, "refuse", { headers: forged });
      expect([refused.status, edge.reached.length]).toEqual([403, 0]);
      const allowed = await edge.ask(PATHS.L1, "refuse", { headers: forged });
      expect(allowed.status).toBe(200);
      const [seen] = edge.reached;
      expect(seen?.headers["x-trust-agent-id"]).toBe("agent://test/refuse");
      expect(seen?.headers["x-trust-verdict"]).toBe("ALLOW");
      expect(seen?.headers["x-trust-degraded"] ?? "").toBe("");
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
      const broken = await edge.ask(PATHS.L1, "connect", { method: "POST", body: "once" });
      expect(broken.status).toBe(502);
      expect(broken.headers.get("x-trust-degraded")).toBeNull();
      expect(edge.reached).toHaveLength(1);
    });
  });
}

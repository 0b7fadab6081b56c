// Tests of a gateway program with its example configuration of examples/gateways, behind fault proxies: the
// conformance suite's whole table, and one of two nodes at fault. One file for each program calls them and those
// on the service itself (_on-nodes.ts), because they mostly wait: the waits then pass at once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ConformanceRow,
  conformanceTable,
  runConformance,
} from "../../src/client/conformance/suite.ts";
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

/** Defines the tests of `program` behind fault proxies. */
export function describeProgram(program: Program): void {
  // Skipped without the program: the title says what to install.
  describe("behind fault proxies", needs(program), () => {
    let edge: Edge;
    beforeAll(async () => {
      edge = await openEdge(program);
    });
    afterAll(() => edge?.stop());
    beforeEach(async () => {
      await edge.proxy.set({ kind: "none" });
      // A node that failed is left alone for a second.
      await expect.poll(() => statusAt(edge, PATHS.L3), { timeout: WAIT_MS_MAX }).toBe(200);
    });

    it("holds the fail policy under every conformance fault", async () => {
      const rows = await runConformance(edge.subject, TIMES);
      const failing = rows.filter(({ faults }) => faults.length > 0);
      const isLate = ({ fault }: ConformanceRow) => fault === "within the limit";
      expect(conformanceTable(failing.filter((row) => !isLate(row)))).toBe("");
      expect(rows).toHaveLength(60);
      // A machine that stands still for 60 ms makes an answer late, and then 503 is right: asked anew, a
      // gateway that gives up too early is late each time.
      let late = failing;
      for (let tries = 0; late.length > 0 && tries < 3; tries += 1) {
        late = (await runConformance(edge.subject, TIMES)).filter(
          (row) => isLate(row) && row.faults.length > 0,
        );
      }
      expect(conformanceTable(late)).toBe("");
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
  });
}

async function statusAt(edge: Edge, path: string): Promise<number> {
  const response = await edge.ask(path, "connect");
  await response.arrayBuffer();
  return response.status;
}

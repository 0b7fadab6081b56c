// Three nodes over one real ordered log: what is recorded on one holds on all.
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import type { Effective } from "../../../src/contract/schemas/service.ts";
import { ADMIN_KEY, Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const OUTCOME = {
  subject: "agent://shop/seller",
  reporter: "agent://shop/buyer",
  outcome: 1,
  grade: "escrow",
  stakes: 5,
};
const QUESTION = {
  agent_id: "agent://shop/seller",
  action: "pay.invoice",
  tool_level: "L1",
  context: {},
};

const ONE_ID = { "idempotency-key": "order-1" };

describe("a cluster", needs("nats-server"), () => {
  let cluster: Cluster;
  let nodes: Node[];
  beforeAll(async () => {
    cluster = await Cluster.open();
    nodes = [await cluster.node("one")];
    nodes.push(...(await Promise.all([cluster.node("two"), cluster.node("three")])));
  }, 90_000);
  afterAll(() => cluster?.close());

  const journalOf = ({ dataDir }: Node) =>
    Buffer.concat(
      readdirSync(`${dataDir}/journal`)
        .filter((name) => name.endsWith(".log"))
        .map((name) => readFileSync(`${dataDir}/journal/${name}`)),
    );
  const onAll = async (check: (node: Node) => Promise<unknown>, wanted: unknown) => {
    for (const node of nodes)
      await expect.poll(() => check(node), { timeout: 5000 }).toEqual(wanted);
  };

  it("tells of each node where it is, and of each answer how old it may be", async () => {
    for (const node of nodes) {
      const { body } = await node.ask<{ stream: object }>("GET", "/readyz");
      expect(body.stream).toMatchObject({
        node: expect.any(String),
        generation: 1,
        lag_messages: expect.any(Number),
        connected: true,
        leader_known: true,
      });
      const answer = await fetch(`${node.url}/v1/service/status`, {
        headers: { authorization: `Bearer ${ADMIN_KEY}` },
      });
      const lagMs = Number(answer.headers.get("x-trust-lag-ms"));
      expect(lagMs).toBeGreaterThan(0);
      expect(lagMs).toBeLessThan(10_000);
      const status = (await answer.json()) as { stream: { node: string } };
      expect(status.stream).toMatchObject({ connected: true });
    }
  });

  it("gives one outcome one receipt, whichever node it is sent to", async () => {
    const report = (node: Node, stakes: number) =>
      node.ask("POST", "/v1/outcomes", { ...OUTCOME, stakes }, undefined, ONE_ID);
    const receipts = [];
    for (const node of nodes) receipts.push(await report(node, 5));
    expect(receipts.map(({ status }) => status)).toEqual([201, 200, 200]);
    const { position, outcome_id: id } = receipts[0]!.body;
    for (const { body } of receipts) expect(body).toMatchObject({ position, outcome_id: id });
    expect((await report(nodes[1]!, 7)).body["code"]).toBe("idempotency_conflict");
  });

  it("lets no node sign with a key of its own", async () => {
    const rotated = await nodes[0]!.ask("POST", "/v1/signing-keys/rotate");
    expect([rotated.status, rotated.body["code"]]).toEqual([409, "not_in_cluster"]);
  });

  it("takes a key that another node has made, and none that another has revoked", async () => {
    const made = await nodes[0]!.ask<{ key: string; key_id: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read"],
    });
    const { key, key_id: id } = made.body;
    // Nobody has waited until the nodes have heard of one another.
    const everywhere = { nodes: 3, of: 3, missing: [] };
    expect(made.body).toMatchObject({ effective: everywhere });
    const verify = async (node: Node) =>
      (await node.ask("POST", "/v1/trust/verify", QUESTION, key)).status;
    expect(await Promise.all(nodes.map(verify))).toEqual([200, 200, 200]);
    const revoked = await nodes[2]!.ask("DELETE", `/v1/keys/${id}`);
    expect(revoked.status).toBe(200);
    expect(revoked.body).toMatchObject({ key_id: id, effective: everywhere });
    // Told to be in force everywhere, it is: nobody has to wait any more.
    expect(await Promise.all(nodes.map(verify))).toEqual([401, 401, 401]);
  });

  it("waits for the nodes when it changes a key's scopes", async () => {
    const made = await nodes[0]!.ask<{ key: string; key_id: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read", "outcomes:write"],
    });
    const { key, key_id: id } = made.body;
    const changed = await nodes[1]!.ask("PATCH", `/v1/keys/${id}`, { scopes: ["outcomes:write"] });
    expect(changed.body).toMatchObject({ effective: { nodes: 3, of: 3, missing: [] } });
    const verify = async (node: Node) =>
      (await node.ask("POST", "/v1/trust/verify", QUESTION, key)).status;
    expect(await Promise.all(nodes.map(verify))).toEqual([403, 403, 403]);
  });

  it("names a node that does not answer, and says from when on nobody takes the key", async () => {
    const made = await nodes[0]!.ask<{ key_id: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read"],
    });
    nodes[2]!.signal("SIGSTOP");
    const askedMs = Date.now();
    const route = `/v1/keys/${made.body.key_id}`;
    const revoked = await nodes[0]!.ask<{ effective: Effective }>("DELETE", route);
    nodes[2]!.signal("SIGCONT");
    const { effective } = revoked.body;
    expect(effective).toMatchObject({ nodes: 2, of: 3, missing: ["three"] });
    const certainMs = Date.parse(effective.certain_at) - askedMs;
    expect(certainMs).toBeGreaterThanOrEqual(30_000);
    expect(certainMs).toBeLessThan(35_000);
  });

  it("suspends an agent, and stops all, on every node before the answer that says so", async () => {
    const everywhere = { nodes: 3, of: 3, missing: [] };
    const reason = { code: "fraud" };
    const verdictsOf = () =>
      Promise.all(
        nodes.map(async (node) => {
          const asked = await node.ask<VerifyResponse>("POST", "/v1/trust/verify", QUESTION);
          const { verdict, log_reason } = asked.body.policy_action;
          return `${verdict} ${log_reason}`;
        }),
      );
    const before = await verdictsOf();
    expect(before.join()).not.toMatch(/BLOCK/);
    const suspension = `/v1/agents/${encodeURIComponent(QUESTION.agent_id)}/condition`;
    for (const [route, body, said] of [
      [suspension, { state: "suspended", reason }, "BLOCK SUSPENDED"],
      ["/v1/stop", { above: "L0", reason }, "BLOCK STOPPED"],
    ] as const) {
      const set = await nodes[0]!.ask("PUT", route, body);
      expect([set.status, set.body["effective"]]).toMatchObject([200, everywhere]);
      expect(await verdictsOf()).toEqual([said, said, said]);
      const lifted = await nodes[2]!.ask("DELETE", route);
      expect([lifted.status, lifted.body["effective"]]).toMatchObject([200, everywhere]);
      expect(await verdictsOf()).toEqual(before);
    }
  });

  it("names a node that does not confirm a suspension, which is in force there once it answers", async () => {
    const route = `/v1/agents/${encodeURIComponent(QUESTION.agent_id)}/condition`;
    nodes[2]!.signal("SIGSTOP");
    const body = { state: "suspended", reason: { code: "fraud" } };
    const set = await nodes[0]!.ask("PUT", route, body);
    nodes[2]!.signal("SIGCONT");
    expect(set.body).toMatchObject({ effective: { nodes: 2, of: 3, missing: ["three"] } });
    const verdictOf = async (node: Node) =>
      (await node.ask<VerifyResponse>("POST", "/v1/trust/verify", QUESTION)).body.policy_action
        ?.verdict;
    expect(await verdictOf(nodes[1]!)).toBe("BLOCK");
    await onAll(verdictOf, "BLOCK");
    await nodes[1]!.ask("DELETE", route);
  });

  it("puts a policy in force on every node", async () => {
    const { status, body } = await nodes[1]!.ask("PUT", "/v1/policy", {});
    expect(status).toBe(200);
    const versionOf = async (node: Node) => (await node.ask("GET", "/v1/policy")).body["set_at"];
    await onAll(versionOf, body["set_at"]);
  });

  it("knows all of it after kill -9, and what came meanwhile", async () => {
    await nodes[1]!.kill("SIGKILL");
    const made = await nodes[0]!.ask<{ key: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read"],
    });
    for (let index = 0; index < 20; index++) await nodes[2]!.ask("POST", "/v1/outcomes", OUTCOME);
    nodes[1] = await cluster.node("two");
    const answer = await nodes[1].ask("POST", "/v1/trust/verify", QUESTION, made.body.key);
    expect(answer.status).toBe(200);
  }, 60_000);

  it("leaves the same bytes on every node", async () => {
    await expect
      .poll(() => nodes.every((node) => journalOf(node).equals(journalOf(nodes[0]!))), {
        timeout: 5000,
      })
      .toBe(true);
    expect(journalOf(nodes[0]!).byteLength).toBeGreaterThan(5000);
  });
});

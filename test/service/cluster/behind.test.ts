// Keys that another node has made, at a node that is behind: it does not refuse them for good, and says of no id that
// there is none. A node that is not behind says so at once.
import { afterEach, describe, expect, it } from "vitest";
import { generateApiKey } from "../../../src/http/access/key-format.ts";
import type { Effective } from "../../../src/contract/schemas/service.ts";
import { ADMIN_KEY, Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const CHECK = { subject: "agent://shop/seller", stakes: 5 };
const WAIT = { timeout: 60_000, interval: 100 };
/** Longer than an idle node takes to prove its age again. */
const IDLE_MS = 3000;

interface MadeKey {
  readonly key: string;
  readonly key_id: string;
  readonly effective: Effective;
}

describe("a node that is behind", needs("nats-server"), () => {
  let cluster: Cluster;
  afterEach(() => cluster?.close());

  const check = async (node: Node, key: string) => {
    const { status, body } = await node.ask("POST", "/v1/check", CHECK, key);
    return status === 200 ? "200" : `${status} ${String(body["code"])}`;
  };
  const change = async (node: Node, method: string, route: string, body?: unknown) => {
    const answer = await node.ask(method, `/v1/keys/${route}`, body);
    return `${answer.status} ${String(answer.body["code"])}`;
  };
  const make = (node: Node) =>
    node.ask<MadeKey>("POST", "/v1/keys", { tenant: "acme", scopes: ["score:read"] });

  it("sends callers of a new key elsewhere until it knows the key, and never refuses it", async () => {
    cluster = await Cluster.open(3);
    await cluster.elected();
    const one = await cluster.node("one");
    const three = await cluster.node("three", cluster.environmentOf(2));
    // A node that nobody has heard of is missed by nobody.
    const seen = async () => JSON.stringify((await one.ask("GET", "/v1/cluster")).body);
    await expect.poll(seen, WAIT).toContain('"three"');
    await cluster.isolate(2);
    // The server that is gone may have led: then the others elect first.
    let made: MadeKey | undefined;
    const making = async () => {
      const { status, body } = await make(one);
      if (status === 201) made = body;
      return status;
    };
    await expect.poll(making, WAIT).toBe(201);
    const { key, key_id: id, effective } = made!;
    expect(effective).toMatchObject({ nodes: 1, of: 2, missing: ["three"] });
    expect(await check(one, key)).toBe("200");
    expect(await check(three, key)).toBe("503 node_behind");
    expect(await check(three, "nonsense")).toBe("401 unauthenticated");
    expect(await change(three, "DELETE", id)).toBe("503 node_behind");
    expect(await change(three, "PATCH", id, { label: "x" })).toBe("503 node_behind");
    expect(await change(three, "POST", `${id}/rotate`, {})).toBe("503 node_behind");
    await cluster.rejoin(2);
    const told = new Set<string>();
    const known = async () => {
      const answer = await check(three, key);
      told.add(answer);
      return answer;
    };
    await expect.poll(known, WAIT).toBe("200");
    expect([...told].filter((answer) => answer.startsWith("401"))).toEqual([]);
    await expect.poll(() => change(three, "DELETE", id), WAIT).toBe("200 undefined");
    expect(await check(three, key)).toBe("401 unauthenticated");
  }, 240_000);

  it("is none of an idle cluster, where a wrong key and a wrong id are told at once", async () => {
    cluster = await Cluster.open();
    const nodes = [await cluster.node("one")];
    nodes.push(...(await Promise.all([cluster.node("two"), cluster.node("three")])));
    const wrong = generateApiKey("live");
    const told: string[] = [];
    const untilMs = performance.now() + IDLE_MS;
    while (performance.now() < untilMs) {
      for (const node of nodes) told.push(await check(node, wrong.text));
    }
    // A machine that stands still for a moment makes every node old.
    const refused = told.filter((answer) => answer === "401 unauthenticated");
    expect(refused.length).toBeGreaterThan(told.length * 0.9);
    const others = told.filter((answer) => !/^401 unauth|^503 node_behind/.test(answer));
    expect(others).toEqual([]);
    for (const node of nodes) {
      await expect.poll(() => change(node, "DELETE", wrong.keyId), WAIT).toBe("404 not_found");
    }
    const { body } = await make(nodes[0]!);
    const everywhere = { nodes: 3, of: 3, missing: [] };
    expect(body.effective).toMatchObject(everywhere);
    const rotation = { overlap_sec: 0 };
    const rotated = await nodes[1]!.ask<MadeKey>(
      "POST",
      `/v1/keys/${body.key_id}/rotate`,
      rotation,
    );
    expect(rotated.body.effective).toMatchObject(everywhere);
    for (const node of nodes) {
      expect(await check(node, rotated.body.key)).toBe("200");
      expect(await check(node, body.key)).toBe("401 unauthenticated");
    }
    const path = "/v1/namespaces/nobodys/transfer";
    const transfer = await nodes[2]!.ask("POST", path, { tenant: "acme" }, ADMIN_KEY);
    expect([transfer.status, transfer.body["code"]]).toEqual([404, "not_found"]);
  }, 120_000);
});

// Endpoints over a real decision log, to real receivers that verify with the specification's own library,
// on a clock of the test: a receiver that is down for a day, a restart between deliveries, one that is
// slow, one that is gone, and what an endpoint is told at all.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { denial } from "./_decision-log.ts";
import type { Receiver } from "./_receiver.ts";
import { closeReceivers, openSilent, openStage, receiverOf, register } from "./_stage.ts";

const HOUR_MS = 3_600_000;
const AGENTS = ["ada", "bob", "cyd", "dan", "eve"];

afterEach(closeReceivers);

const idsOf = (received: readonly { id: string }[]) => [...new Set(received.map(({ id }) => id))];

/** Numbers of the stakes, which count the decisions, by agent. */
function byAgent(receiver: Receiver): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const { data } of receiver.accepted()) {
    (found[data["agent_id"] as string] ??= []).push(data["stakes"] as number);
  }
  return found;
}

describe("an endpoint", () => {
  it("that was down for a day gets every event, signed, in order for each agent", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver, { events: ["decision.denied"] });
    receiver.statusOf = () => 503;
    const count = 1500;
    for (let n = 0; n < count; n += 50) {
      const agents = Array.from({ length: 50 }, (_, at) => AGENTS[(n + at * 7) % AGENTS.length]!);
      stage.log.log(...agents.map((agent) => denial(agent)));
      // Rows are made and segments compressed meanwhile, as in a running service.
      if (n % 500 === 0) stage.log.settle();
      await stage.pass((24 * HOUR_MS) / (count / 50));
    }
    expect(receiver.accepted()).toEqual([]);
    expect(receiver.received.length).toBeLessThan(400);
    expect(await stage.service.read(id)).toMatchObject({ enabled: true, delivered: 0 });

    receiver.statusOf = () => 204;
    await stage.pass(HOUR_MS);
    expect(receiver.refused).toEqual([]);
    expect(idsOf(receiver.accepted())).toHaveLength(count);
    const found = byAgent(receiver);
    expect(Object.keys(found)).toHaveLength(AGENTS.length);
    for (const numbers of Object.values(found)) {
      expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
    }
    const after = await stage.service.read(id);
    expect(after).toMatchObject({ delivered: count, waiting: 0, dead: 0, failing_since: null });
  });

  it("gets all that was not written down once more after a crash, under the same ids", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    await register(stage, receiver);
    stage.log.log(...AGENTS.map((agent) => denial(agent)));
    await stage.settle();
    expect(receiver.accepted()).toHaveLength(5);
    const before = idsOf(receiver.accepted());
    // Within the second that deliveries may stay unwritten.
    stage.crash();
    stage.log.log(denial("zoe"));
    await stage.pass(5000, 1000);
    const after = idsOf(receiver.accepted());
    expect(after).toHaveLength(6);
    expect(after.slice(0, 5).toSorted()).toEqual(before.toSorted());
    // What was written down is not sent again.
    const count = receiver.received.length;
    await stage.pass(5000, 1000);
    stage.crash();
    await stage.pass(5000, 1000);
    expect(receiver.received).toHaveLength(count);
  });

  it("is told from its registration on, and nothing that let through", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    stage.log.log(denial("early"));
    await register(stage, receiver);
    stage.log.log({ ...denial("good"), isAllowed: true }, denial("bad"));
    await stage.settle();
    expect(receiver.received.map(({ data }) => data["agent_id"])).toEqual(["agent://shop/bad"]);
    expect(receiver.received[0]).toMatchObject({
      type: "decision.denied",
      tenant: "acme",
      data: { verdict: "BLOCK", reason_codes: ["THIN_FILE", "BASE_RATE"], stands_for: 1 },
    });
  });

  it("is told once a day that an agent carries a fraud flag, however often it asks", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    await register(stage, receiver, { events: ["agent.fraud_flagged"] });
    const flagged = { ...denial("a"), reasonCodes: ["FRAUD_FLAG"] };
    for (let n = 0; n < 5; n++) {
      stage.log.log(flagged, flagged);
      await stage.settle();
    }
    stage.log.log({ ...flagged, evaluatedAtMs: stage.clock.nowMs + 24 * HOUR_MS });
    await stage.settle();
    expect(receiver.accepted()).toHaveLength(2);
    expect(idsOf(receiver.accepted())).toHaveLength(2);
  });

  it("of a tenant is told of that tenant alone", async () => {
    const stage = openStage();
    const [own, all] = [await receiverOf(), await receiverOf()];
    await register(stage, own, { tenant: "acme" });
    await register(stage, all);
    stage.log.log(denial("a", "acme"), denial("b", "globex"), denial("c", "acme"));
    await stage.settle();
    expect(own.accepted().map(({ tenant }) => tenant)).toEqual(["acme", "acme"]);
    expect(all.accepted()).toHaveLength(3);
    const refused = stage.service.create({
      url: own.url,
      tenant: "acme",
      events: ["decision.denied", "kaizen.promoted"],
    });
    await expect(refused).rejects.toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/events/1", code: "enum" }],
    });
  });

  it("that hangs delays no other", async () => {
    const stage = openStage();
    const [slow, quick] = [await receiverOf(), await receiverOf()];
    await register(stage, slow);
    await register(stage, quick);
    // The server takes the connection and says nothing.
    const silent = await openSilent();
    await stage.service.change((await stage.service.list()).webhooks[0]!.id, { url: silent.url });
    stage.log.log(...AGENTS.map((agent) => denial(agent)));
    stage.service.tick();
    await expect.poll(() => quick.accepted().length).toBe(5);
    expect(stage.pending).toBeGreaterThan(0);
    silent.close();
    await expect.poll(() => stage.pending).toBe(0);
  });

  it("that answers 410 is told no more, until it is enabled", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    receiver.statusOf = () => 410;
    stage.log.log(denial("a"));
    await stage.settle();
    expect(await stage.service.read(id)).toMatchObject({ enabled: false, paused_by: "gone" });
    expect(stage.logged.join()).toContain(`webhook_paused ${id} by \`gone\``);
    const { endpoints, ...figures } = stage.service.figures();
    expect(Object.fromEntries(endpoints)).toEqual({ active: 0, failing: 0, paused: 0, stopped: 1 });
    expect(figures).toEqual({ waiting: 1, dead: 0, delivered: 0, failed: 1, oldestMs: undefined });
    stage.log.log(denial("b"));
    await stage.pass(HOUR_MS);
    expect(receiver.received).toHaveLength(1);
    receiver.statusOf = () => 204;
    await stage.service.change(id, { enabled: true });
    await stage.settle();
    expect(receiver.accepted()).toHaveLength(2);
  });

  it("that fails for three days is told no more; its events wait, some as dead letters", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    receiver.statusOf = () => 500;
    // One event a day: an endpoint fails for as long as there is something to tell it.
    for (const agent of AGENTS) {
      stage.log.log(denial(agent));
      await stage.pass(24 * HOUR_MS, 300_000);
    }
    const failed = await stage.service.read(id);
    expect(failed).toMatchObject({ enabled: false, paused_by: "failing" });
    expect(failed.dead).toBeGreaterThan(0);
    const { dead } = await stage.service.dead(id);
    expect(dead[0]).toMatchObject({ type: "decision.denied", detail: "answered 500" });
    expect(dead[0]!.body).toMatchObject({ type: "decision.denied", tenant: "acme" });
    // They are there after a restart, and come when they are asked for.
    stage.crash();
    receiver.statusOf = () => 204;
    await stage.service.change(id, { enabled: true });
    expect(await stage.service.redeliver(id, [dead[0]!.webhook_id])).toEqual({
      redelivered: 1,
      dead: failed.dead - 1,
    });
    await stage.service.redeliver(id, undefined);
    await stage.settle();
    expect(idsOf(receiver.accepted())).toHaveLength(5);
    expect(await stage.service.read(id)).toMatchObject({ dead: 0, waiting: 0, enabled: true });
  });

  it("gives up its backlog when it is told to", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    await stage.service.change(id, { enabled: false });
    stage.log.log(...AGENTS.map((agent) => denial(agent)));
    await stage.settle();
    await stage.service.change(id, { enabled: true, skip_backlog: true });
    stage.log.log(denial("new"));
    await stage.settle();
    expect(receiver.received.map(({ data }) => data["agent_id"])).toEqual(["agent://shop/new"]);
  });

  it("has two secrets for a day after its secret was renewed", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    const former = receiver.secret;
    const { secret } = await stage.service.renewSecret(id);
    expect(secret).not.toBe(former);
    for (const each of [former, secret]) {
      receiver.secret = each;
      stage.log.log(denial(each.slice(6, 9)));
      await stage.settle();
    }
    expect([receiver.accepted().length, receiver.refused]).toEqual([2, []]);
    stage.clock.nowMs += 25 * HOUR_MS;
    receiver.secret = former;
    expect(await stage.service.test(id)).toMatchObject({ delivered: false, status: 401 });
    receiver.secret = secret;
    expect(await stage.service.test(id)).toMatchObject({ delivered: true, status: 204 });
  });

  it("goes on while its disk takes nothing, and says so once", async () => {
    const stage = openStage();
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    const folder = join(stage.dataDir, "webhooks");
    // What is in the way of the temporary file stands for a disk that refuses.
    fs.mkdirSync(join(folder, `${id}.json.tmp`));
    for (const agent of AGENTS) {
      stage.log.log(denial(agent));
      await stage.pass(2000, 1000);
    }
    expect(receiver.accepted()).toHaveLength(5);
    const told = stage.logged.filter((line) => line.startsWith("webhook_state_not_saved"));
    expect(told).toHaveLength(1);
    fs.rmdirSync(join(folder, `${id}.json.tmp`));
    stage.log.log(denial("zoe"));
    await stage.pass(2000, 1000);
    stage.crash();
    await stage.pass(5000, 1000);
    expect(receiver.received).toHaveLength(6);
  });

  it("of a copied directory under another name is told nothing", async () => {
    const stage = openStage("tr-original");
    const receiver = await receiverOf();
    const id = await register(stage, receiver);
    const copy = openStage("tr-copy", stage.dataDir);
    copy.log.log(denial("a"));
    await copy.settle();
    expect(await copy.service.read(id)).toMatchObject({ enabled: false, paused_by: "restored" });
    expect(receiver.received).toEqual([]);
    expect(copy.logged.join()).toContain("restored copy");
  });
});

// The webhook thread as the main thread has it: started with the first endpoint and at a start where there
// is one, refusals across the threads, and a list that cannot be read.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { LedgerMetrics } from "../../../src/ledger/metrics.ts";
import { WebhookThreadClient } from "../../../src/threads/webhooks/thread-client.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";

const URL = "https://hooks.invalid/";
const open: WebhookThreadClient[] = [];

afterEach(() => Promise.all(open.splice(0).map((keeper) => keeper.close())));

function keeperOf(dataDir: string) {
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const keeper = new WebhookThreadClient({
    data: () => ({
      dataDir,
      serviceId: "tr-1",
      allowed: "127.0.0.1",
      userAgent: "test",
      figures: new LedgerMetrics().memory,
      durable: 0,
    }),
    log: { info: log, warn: log, error: log },
  });
  open.push(keeper);
  return { keeper, logged };
}

it("keeps endpoints over its end, and starts by itself where there is one", async () => {
  const dataDir = temporaryDirectory();
  fs.mkdirSync(join(dataDir, "journal"));
  const { keeper } = keeperOf(dataDir);
  // Nobody has asked for a thread yet.
  expect(keeper.figures).toBeUndefined();
  expect(fs.existsSync(join(dataDir, "webhooks"))).toBe(false);
  expect(await keeper.list()).toEqual({ webhooks: [] });
  const { id } = await keeper.create({ url: URL });
  await expect(keeper.create({ url: "http://10.0.0.1/" })).rejects.toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/url" }],
  });
  await expect(keeper.read("wh_0")).rejects.toMatchObject({ code: "not_found" });
  await keeper.close();
  await expect(keeper.list()).rejects.toMatchObject({ code: "webhooks_unavailable" });
  const mode = fs.statSync(join(dataDir, "webhooks/endpoints.json")).mode & 0o777;
  expect(mode).toBe(0o600);

  const { keeper: next } = keeperOf(dataDir);
  await expect.poll(() => next.figures).toMatchObject({ waiting: 0, dead: 0 });
  expect((await next.list()).webhooks.map((each) => each.id)).toEqual([id]);
});

it("answers that it is not there where its list cannot be read, and says so", async () => {
  const dataDir = temporaryDirectory();
  fs.mkdirSync(join(dataDir, "webhooks"));
  fs.writeFileSync(join(dataDir, "webhooks/endpoints.json"), '{"secret": "whsec_');
  const { keeper, logged } = keeperOf(dataDir);
  await expect(keeper.list()).rejects.toMatchObject({ code: "webhooks_unavailable" });
  expect(logged).toEqual(["webhooks_failed"]);
  await expect(keeper.list()).rejects.toMatchObject({ code: "webhooks_unavailable" });
});

// Shadow mode on the caller's side: a refused check that is not enforced holds nothing back, one
// from a service that names no shadow mode does.
import { expect, it } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError } from "../../src/client/errors.ts";
import { withTrustRank } from "../../src/client/gates/with-trust-rank.ts";
import { checkReply, service } from "./_replies.ts";

function clientFor(more: object) {
  const refused = (body: { subject?: string; stakes: number }) => {
    const { enforced: _, ...reply } = checkReply(body.subject!, body.stakes, "refuse");
    return { ...reply, ...more };
  };
  return new TrustRankClient({
    baseUrl: "http://service",
    apiKey: "key",
    fetch: service(refused),
  });
}

const pay = (client: TrustRankClient) =>
  withTrustRank(async () => "paid", { client, agentId: () => "agent://a/b", stakes: () => 5 });

it("runs what a shadow verdict refuses, and says that it is one", async () => {
  const client = clientFor({ enforced: false });
  const verdict = await client.require("agent://a/b", { stakes: 5 });
  expect(verdict).toMatchObject({ decision: "refuse", allowed: false, enforced: false });
  expect(await pay(client)()).toBe("paid");
});

it.each([{}, { enforced: true }])("holds back what is refused with %j", async (more) => {
  const client = clientFor(more);
  expect((await client.check("agent://a/b", { stakes: 5 })).enforced).toBe(true);
  await expect(client.require("agent://a/b", { stakes: 5 })).rejects.toThrow(TrustGateError);
  await expect(pay(client)()).rejects.toThrow(TrustGateError);
});

it("takes no word for whether it is enforced", async () => {
  const client = clientFor({ enforced: "no" });
  await expect(client.check("agent://a/b", { stakes: 5 })).rejects.toMatchObject({
    code: "malformed_reply",
  });
});

// Counting of refused authorisations in one thread, over real HTTP and both servers.
import { afterEach, expect, it } from "vitest";
import { type RefusalBatch, RefusalCollector } from "../../../src/http/access/refusals.ts";
import { CHECK_BODY, describeAdapters, openTestServer, type TestServer } from "../_setup.ts";

let service: TestServer | undefined;
afterEach(() => service?.stop());

describeAdapters("refused authorisations", (adapter) => {
  it("are counted by reason, address and key, and handed on within a moment", async () => {
    const batches: RefusalBatch[] = [];
    const denials = new RefusalCollector((batch) => batches.push(batch), 20);
    const opened = (service = await openTestServer(adapter, { refusals: denials }));
    const expiresAtMs = opened.clock.nowMs + 1000;
    const expired = await opened.makeKey(["score:read"], { expiresAtMs });
    opened.clock.nowMs = expiresAtMs;
    const keyId = opened.keyring.list().at(-1)!.key_id;
    const ask = async (authorization: string | undefined, path = "/v1/check") => {
      const { status } = await fetch(opened.base + path, {
        method: "POST",
        body: JSON.stringify(CHECK_BODY),
        headers: {
          "content-type": "application/json",
          ...(authorization === undefined ? {} : { authorization }),
        },
      });
      return status;
    };
    expect(await ask(`Bearer ${opened.key}`)).toBe(200);
    expect(await ask(undefined)).toBe(401);
    expect(await ask(undefined, "/v1/handshake")).toBe(401);
    expect(await ask("Basic YTpi")).toBe(401);
    expect(await ask(`bearer  ${expired}`)).toBe(401);
    expect(await ask(`Bearer ${opened.key}`, "/v1/keys")).toBe(403);
    // No such path, no right refused.
    expect(await ask(undefined, "/v1/nothing")).toBe(404);

    const totals = () => {
      const found = new Map<string, object>();
      for (const { reason, address, keyId: key, count } of batches.flatMap((each) => each.counts)) {
        const before = (found.get(reason) as { count: number } | undefined)?.count ?? 0;
        found.set(reason, { address, keyId: key, count: before + count });
      }
      return Object.fromEntries(found);
    };
    const address = "127.0.0.1";
    const own = opened.keyring.list()[0]!.key_id;
    await expect.poll(totals).toEqual({
      no_key: { address, keyId: null, count: 2 },
      malformed_key: { address, keyId: null, count: 1 },
      expired_key: { address, keyId, count: 1 },
      insufficient_scope: { address, keyId: own, count: 1 },
    });
  });
});

it("more sources than are told apart are a number", () => {
  const batches: RefusalBatch[] = [];
  const book = new RefusalCollector((batch) => batches.push(batch), 60_000);
  for (let each = 0; each < 1000; each++) {
    book.countRefusal(exchangeFrom(`192.0.${each >> 8}.${each & 0xff}`), "unauthenticated");
  }
  book.countRefusal(exchangeFrom("192.0.0.0"), "not_found");
  book.flush();
  book.flush();
  expect(batches).toHaveLength(1);
  expect(batches[0]!.counts).toHaveLength(256);
  expect(batches[0]!.overflow).toBe(1000 - 256);
});

/** As much of an exchange as is looked at. */
function exchangeFrom(address: string): Parameters<RefusalCollector["countRefusal"]>[0] {
  return {
    head: {},
    services: { clock: () => 0, routes: [] },
    peerAddress: () => address,
    routeIndex: 0,
    requestId: "r",
  } as never;
}

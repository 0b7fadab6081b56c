// Verifying webhooks: takes what the service and the library of the specification sign, by either of two
// secrets, and nothing that was changed, is old, or is no event.
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from "../../../src/client/webhooks/verify.ts";
import { formatSecret, buildSignedHeaders } from "../../../src/webhooks/signature.ts";
import { rejection } from "../_replies.ts";

const NOW_MS = 1_772_000_000_000;
const now = () => NOW_MS;
const EVENT = { type: "decision.denied", timestamp: "2026-02-25T00:00:00.000Z", tenant: "acme" };
const BODY = JSON.stringify({ ...EVENT, data: { agent_id: "agent://ünï/cøde" } });
const [SECRET, FORMER, OTHER] = [1, 2, 3].map((n) => formatSecret(new Uint8Array(32).fill(n)));
const headers = buildSignedHeaders([SECRET!, FORMER!], "evt_1", NOW_MS, BODY);

const refusal = async (
  body: string | Uint8Array,
  given: WebhookHeaders,
  secrets: string | readonly string[] = SECRET!,
) => {
  const thrown = await rejection(verifyWebhook(body, given, secrets, { now }));
  expect(thrown).toBeInstanceOf(WebhookVerificationError);
  return (thrown as Error).message;
};

describe("what is good", () => {
  it("is the event, with its id", async () => {
    const event = await verifyWebhook(BODY, headers, SECRET!, { now });
    expect(event).toEqual({ ...EVENT, id: "evt_1", data: { agent_id: "agent://ünï/cøde" } });
  });

  it("may come as bytes, with headers of any kind, by either secret", async () => {
    const bytes = new TextEncoder().encode(BODY);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const given of [headers, upper, new Headers(headers)]) {
      for (const secrets of [SECRET!, FORMER!, [OTHER!, FORMER!], SECRET!.replace("whsec_", "")]) {
        const event = await verifyWebhook(bytes, given, secrets, { now });
        expect(event.type).toBe("decision.denied");
      }
    }
  });

  it("is also what the library of the specification signs, and the other way round", async () => {
    const webhook = new Webhook(SECRET!);
    const at = new Date();
    const signed = {
      "webhook-id": "evt_2",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": `v1a,AAAA ${webhook.sign("evt_2", at, BODY)}`,
    };
    expect(await verifyWebhook(BODY, signed, SECRET!)).toMatchObject({ id: "evt_2" });
    expect(
      webhook.verify(BODY, buildSignedHeaders([SECRET!], "evt_3", at.getTime(), BODY)),
    ).toEqual(JSON.parse(BODY));
  });
});

describe("what is refused", () => {
  it("is a changed body, id, time or signature, at any place", async () => {
    const bytes = new TextEncoder().encode(BODY);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const changed = bytes.slice();
          changed[at]! ^= by;
          expect(await refusal(changed, headers)).toContain("secret");
        },
      ),
      { numRuns: 50 },
    );
    for (const [name, value] of [
      ["webhook-id", "evt_2"],
      ["webhook-timestamp", String(NOW_MS / 1000 + 1)],
      ["webhook-signature", headers["webhook-signature"]!.replaceAll("v1,", "v1a,")],
      ["webhook-signature", "v1,not base64"],
      ["webhook-signature", "v1,"],
      ["webhook-signature", `${"v1,AAAA ".repeat(16)}${headers["webhook-signature"]}`],
    ] as const) {
      expect(await refusal(BODY, { ...headers, [name]: value })).toContain("secret");
    }
    expect(await refusal(BODY, headers, OTHER)).toContain("secret");
    expect(await refusal(BODY, headers, [])).toContain("secret");
  });

  it("never throws anything else, whatever the headers say", async () => {
    const value = fc.oneof(fc.string(), fc.constant("v1,AAAA"), fc.constant(undefined));
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          "webhook-id": value,
          "webhook-timestamp": value,
          "webhook-signature": value,
        }),
        async (given) => {
          expect(await refusal(BODY, given)).not.toBe("");
        },
      ),
      { numRuns: 100 },
    );
  });

  it("is what is old, from the future, or has no time", async () => {
    const at = (offsetSec: number) =>
      buildSignedHeaders([SECRET!], "evt_1", NOW_MS + offsetSec * 1000, BODY);
    for (const near of [-300, 0, 300]) await verifyWebhook(BODY, at(near), SECRET!, { now });
    for (const far of [-301, 301]) expect(await refusal(BODY, at(far))).toContain("too old");
    const strict = { now, toleranceSec: 10 };
    expect(await rejection(verifyWebhook(BODY, at(-11), SECRET!, strict))).toBeInstanceOf(
      WebhookVerificationError,
    );
    const unset = { ...strict, toleranceSec: Number.NaN };
    expect(await rejection(verifyWebhook(BODY, at(0), SECRET!, unset))).toBeInstanceOf(
      WebhookVerificationError,
    );
  });

  it("is a header that is missing or repeated", async () => {
    for (const name of Object.keys(headers)) {
      for (const value of [undefined, "", ["a", "b"]]) {
        expect(await refusal(BODY, { ...headers, [name]: value })).toContain(name);
      }
    }
  });

  it("is a signed body that is no event", async () => {
    for (const body of ["{", "[]", "null", "{}", '{"type":"a","timestamp":"b","data":null}']) {
      const signed = buildSignedHeaders([SECRET!], "evt_1", NOW_MS, body);
      expect(await refusal(body, signed)).toContain("the body is");
    }
  });

  it("is told apart from a secret that is none", async () => {
    for (const wrong of ["whsec_", "whsec_$", ""]) {
      const thrown = await rejection(verifyWebhook(BODY, headers, wrong, { now }));
      expect(thrown).toMatchObject({ code: "invalid_argument" });
    }
  });
});

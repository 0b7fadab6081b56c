// The interfaces of the published client (client/messages.ts) held to the schemas that the service
// checks and documents: their text is what is made from them, and their types are compared by the
// compiler, in `npm run typecheck`.
import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, it } from "vitest";
import type * as messages from "../../src/client/messages.ts";
import type * as told from "../../src/client/webhooks/messages.ts";
import type { ProvenanceRecord } from "../../src/contract/schemas/decisions.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import type * as scores from "../../src/contract/schemas/scores.ts";
import type { Problem } from "../../src/contract/schemas/service.ts";
import type * as webhooks from "../../src/contract/schemas/webhooks.ts";
import { clientTypes } from "../docs/_client-types.ts";

const ROOT = new URL("../../", import.meta.url);
/** Without what a formatter may move: white space, parentheses, ends of members. */
const wordsOf = (text: string) => text.replaceAll(/[\s()*;|]/g, "");

describe("the published messages", () => {
  it("are made from the schemas (npm run docs:reference)", async () => {
    for (const [name, text] of Object.entries(await clientTypes())) {
      expect(wordsOf(readFileSync(new URL(name, ROOT), "utf8"))).toBe(wordsOf(text));
    }
  });

  it("have the types of their schemas", () => {
    expectTypeOf<Required<messages.VerifyRequest>>().toEqualTypeOf<
      Required<scores.VerifyRequest>
    >();
    expectTypeOf<scores.VerifyResponse>().toEqualTypeOf<messages.VerifyResponse>();
    expectTypeOf<scores.CheckRequest>().toEqualTypeOf<messages.CheckRequest>();
    expectTypeOf<scores.CheckResponse>().toEqualTypeOf<messages.CheckResponse>();
    expectTypeOf<scores.HandshakeRequest>().toEqualTypeOf<messages.HandshakeRequest>();
    expectTypeOf<scores.HandshakeResponse>().toEqualTypeOf<messages.HandshakeResponse>();
    expectTypeOf<scores.Leg>().toEqualTypeOf<messages.Leg>();
    expectTypeOf<OutcomeRequest>().toEqualTypeOf<messages.OutcomeRequest>();
    expectTypeOf<OutcomeReceipt>().toEqualTypeOf<messages.OutcomeReceipt>();
    expectTypeOf<ProvenanceRecord>().toEqualTypeOf<messages.ProvenanceRecord>();
    expectTypeOf<Problem>().toEqualTypeOf<messages.Problem>();
    expectTypeOf<webhooks.WebhookPatch>().toEqualTypeOf<told.WebhookPatch>();
    expectTypeOf<webhooks.Webhook>().toEqualTypeOf<told.Webhook>();
    expectTypeOf<webhooks.WebhookCreated>().toEqualTypeOf<told.WebhookCreated>();
    expectTypeOf<webhooks.WebhookTested>().toEqualTypeOf<told.WebhookTested>();
    expectTypeOf<webhooks.WebhookDelivery>().toEqualTypeOf<told.WebhookDelivery>();
    expectTypeOf<webhooks.WebhookRedelivery>().toEqualTypeOf<told.WebhookRedelivery>();
    expectTypeOf<NonNullable<Problem["errors"]>[number]>().toEqualTypeOf<messages.FieldError>();
  });
});

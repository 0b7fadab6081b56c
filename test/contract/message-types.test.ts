// The interfaces that the published client shows (contract/messages.ts) held to the schemas that the
// service checks and documents. Compared by the compiler: the test below fails `npm run typecheck`.
import { describe, expectTypeOf, it } from "vitest";
import type * as messages from "../../src/contract/messages.ts";
import type { ProvenanceRecord } from "../../src/contract/schemas/decisions.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import type { MessageOf } from "../../src/contract/schemas/schema.ts";
import type * as scores from "../../src/contract/schemas/scores.ts";
import type { FieldError, Problem } from "../../src/contract/schemas/service.ts";

describe("a message's interface", () => {
  it("is the type of its schema", () => {
    expectTypeOf<MessageOf<typeof scores.VerifyRequest>>().toEqualTypeOf<messages.VerifyRequest>();
    expectTypeOf<
      MessageOf<typeof scores.VerifyResponse>
    >().toEqualTypeOf<messages.VerifyResponse>();
    expectTypeOf<MessageOf<typeof scores.CheckRequest>>().toEqualTypeOf<messages.CheckRequest>();
    expectTypeOf<MessageOf<typeof scores.CheckResponse>>().toEqualTypeOf<messages.CheckResponse>();
    expectTypeOf<
      MessageOf<typeof scores.HandshakeRequest>
    >().toEqualTypeOf<messages.HandshakeRequest>();
    expectTypeOf<MessageOf<typeof scores.Leg>>().toEqualTypeOf<messages.Leg>();
    expectTypeOf<
      MessageOf<typeof scores.HandshakeResponse>
    >().toEqualTypeOf<messages.HandshakeResponse>();
    expectTypeOf<MessageOf<typeof OutcomeRequest>>().toEqualTypeOf<messages.OutcomeRequest>();
    expectTypeOf<MessageOf<typeof OutcomeReceipt>>().toEqualTypeOf<messages.OutcomeReceipt>();
    expectTypeOf<MessageOf<typeof ProvenanceRecord>>().toEqualTypeOf<messages.ProvenanceRecord>();
    expectTypeOf<MessageOf<typeof Problem>>().toEqualTypeOf<messages.Problem>();
    expectTypeOf<MessageOf<typeof FieldError>>().toEqualTypeOf<messages.FieldError>();
  });
});

// Messages of the route that takes security event tokens.
import * as t from "./schema.ts";

export const SecurityEventToken = t.defineSchema<string>({
  type: "string",
  description:
    "A security event token (RFC 8417) in compact form, signed by a key that is pinned for its issuer.",
  "~component": "SecurityEventToken",
});
export const SignalError = t.defineMessage("SignalError", {
  err: t.defineChoice([
    "invalid_request",
    "invalid_key",
    "invalid_issuer",
    "invalid_audience",
    "access_denied",
  ]),
  description: t.text,
});

// Messages of the console's session.
import { SCOPES } from "../vocabulary.ts";
import * as t from "./schema.ts";

const SECRET_LENGTH_MAX = 512;
const secret = t.textOfLength(
  { minLength: 1, maxLength: SECRET_LENGTH_MAX },
  ({ length }) => length > 0 && length <= SECRET_LENGTH_MAX,
  `must be 1 to ${SECRET_LENGTH_MAX} characters`,
);

/** `POST /console/session`: one of the two. */
export const ConsoleLogin = t.strict("ConsoleLogin", {
  key: t.optional(t.said(secret, "an API key")),
  token: t.optional(t.said(secret, "of a link that logs in once")),
});

/** Who is logged in. */
export const ConsoleSession = t.message("ConsoleSession", {
  csrf: t.said(t.text, "value of `X-TR-CSRF` for whatever changes something"),
  session: t.said(t.text, "names the session in the audit trail"),
  key_id: t.text,
  tenant: t.text,
  scopes: t.list(t.defineChoice(SCOPES)),
  ends_at: t.time,
  version: t.text,
});

/** Body of a route below `/console/api`: that route's own. */
export const RelayedBody = t.defineSchema<object>({ type: "object", "~component": "RelayedBody" });

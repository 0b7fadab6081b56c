// Messages of the console's session.
import { SCOPES } from "../vocabulary.ts";
import * as t from "./schema.ts";

const SECRET_LENGTH_MAX = 512;
const secret = t.defineTextOfLength(
  { minLength: 1, maxLength: SECRET_LENGTH_MAX },
  ({ length }) => length > 0 && length <= SECRET_LENGTH_MAX,
  `must be 1 to ${SECRET_LENGTH_MAX} characters`,
);

/** `POST /console/session`: one of the two. */
export const ConsoleLogin = t.defineStrictMessage("ConsoleLogin", {
  key: t.makeOptional(t.withDescription(secret, "an API key")),
  token: t.makeOptional(t.withDescription(secret, "of a link that logs in once")),
});

/** Who is logged in. */
export const ConsoleSession = t.defineMessage("ConsoleSession", {
  csrf: t.withDescription(t.text, "value of `X-TR-CSRF` for whatever changes something"),
  session: t.withDescription(t.text, "names the session in the audit trail"),
  key_id: t.text,
  tenant: t.text,
  scopes: t.defineList(t.defineChoice(SCOPES)),
  ends_at: t.time,
  version: t.text,
  unit_of_account: t.withDescription(t.text, "what stakes are counted in"),
});

/** Body of a route below `/console/api`: that route's own. */
export const RelayedBody = t.defineSchema<object>({ type: "object", "~component": "RelayedBody" });

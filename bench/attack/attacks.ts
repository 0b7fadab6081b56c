// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { forgedSignatures } from "./attacks/forged-signatures.ts";
import { fuzz } from "./attacks/fuzz.ts";
import { malformed } from "./attacks/malformed.ts";
import { otherTenants } from "./attacks/other-tenants.ts";
import { scopes } from "./attacks/scopes.ts";
import { smuggling } from "./attacks/smuggling.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [
  smuggling,
  scopes,
  otherTenants,
  forgedSignatures,
  fuzz,
  malformed,
  unreadReplies,
];

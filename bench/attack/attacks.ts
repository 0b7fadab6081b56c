// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { baseRate } from "./attacks/base-rate.ts";
import { damagedFiles, fullDisk, kills } from "./attacks/crashes.ts";
import { forgedSignatures } from "./attacks/forged-signatures.ts";
import { fuzz } from "./attacks/fuzz.ts";
import { malformed } from "./attacks/malformed.ts";
import { otherTenants } from "./attacks/other-tenants.ts";
import { overload, soak } from "./attacks/overload.ts";
import { scopes } from "./attacks/scopes.ts";
import { slowConnections } from "./attacks/slow-connections.ts";
import { smuggling } from "./attacks/smuggling.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [
  smuggling,
  malformed,
  fuzz,
  scopes,
  otherTenants,
  forgedSignatures,
  slowConnections,
  overload,
  soak,
  unreadReplies,
  baseRate,
  kills,
  damagedFiles,
  fullDisk,
];

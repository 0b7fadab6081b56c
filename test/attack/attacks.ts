// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { baseRate } from "./attacks/base-rate.ts";
import { burst, rival, slices } from "./attacks/burst.ts";
import { clockJump } from "./attacks/clock-jump.ts";
import { damagedFiles, fullDisk, kills } from "./attacks/crashes.ts";
import { denialFlood } from "./attacks/denial-flood.ts";
import { forgedMessage, poisonMessage, replayedMessage } from "./attacks/foreign-messages.ts";
import { forgedReport } from "./attacks/forged-report.ts";
import { forgedReporter } from "./attacks/forged-reporter.ts";
import { forgedSignatures } from "./attacks/forged-signatures.ts";
import { fuzz } from "./attacks/fuzz.ts";
import { idleConnections } from "./attacks/idle-connections.ts";
import { longBatches } from "./attacks/long-batches.ts";
import { missingKeys, otherKey } from "./attacks/lost-files.ts";
import { lostTail } from "./attacks/lost-tail.ts";
import { malformed } from "./attacks/malformed.ts";
import { namespaceTaken } from "./attacks/namespace-taken.ts";
import { otherTenants } from "./attacks/other-tenants.ts";
import { overload, soak } from "./attacks/overload.ts";
import { provenanceFlood } from "./attacks/provenance-flood.ts";
import { requestId } from "./attacks/request-id.ts";
import { grantAndRun } from "./attacks/grant-and-run.ts";
import { signedRing } from "./attacks/signed-ring.ts";
import { slanderRing } from "./attacks/slander-ring.ts";
import { scopes } from "./attacks/scopes.ts";
import { slowConnections } from "./attacks/slow-connections.ts";
import { smuggling } from "./attacks/smuggling.ts";
import { sqlLanes } from "./attacks/sql-lanes.ts";
import { storeLoss } from "./attacks/store-loss.ts";
import { fullTable } from "./attacks/full-table.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";
import { unstoppableSql } from "./attacks/unstoppable-sql.ts";
import { vaultSlots } from "./attacks/vault-slots.ts";

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
  namespaceTaken,
  forgedReporter,
  signedRing,
  slanderRing,
  grantAndRun,
  burst,
  rival,
  slices,
  requestId,
  unstoppableSql,
  sqlLanes,
  denialFlood,
  idleConnections,
  clockJump,
  longBatches,
  fullTable,
  vaultSlots,
  kills,
  damagedFiles,
  fullDisk,
  storeLoss,
  provenanceFlood,
  lostTail,
  otherKey,
  missingKeys,
  forgedMessage,
  replayedMessage,
  poisonMessage,
  forgedReport,
];

// Parsed values -> the wire requests (SPEC §2.2, §2.4, §2.6, §4.3), every member checked
// and copied. All faults of a body are reported together. Unknown members are ignored: the spec's
// own routes must accept a newer caller.
import type { ProvenanceRecord } from "../schemas/decisions.ts";
import type { OutcomeRequest } from "../schemas/outcomes.ts";
import type { CheckRequest, HandshakeRequest, VerifyRequest } from "../schemas/scores.ts";
import type { FieldError } from "../faults.ts";
import * as consoles from "../schemas/console.ts";
import * as decisions from "../schemas/decisions.ts";
import * as kaizen from "../schemas/kaizen.ts";
import * as namespaces from "../schemas/namespaces.ts";
import * as quotas from "../schemas/quotas.ts";
import * as outcomes from "../schemas/outcomes.ts";
import * as reporters from "../schemas/reporter-keys.ts";
import { anything, batchOf, object } from "../schemas/schema.ts";
import * as scores from "../schemas/scores.ts";
import * as service from "../schemas/service.ts";
import * as sources from "../schemas/sources.ts";
import * as webhooks from "../schemas/webhooks.ts";
import { type Parser, parserOf, readerOf } from "./parser.ts";

export const parseVerifyRequest: Parser<VerifyRequest> = parserOf(scores.VerifyRequest);
export const parseCheckRequest: Parser<CheckRequest> = parserOf(scores.CheckRequest);
export const parseHandshakeRequest: Parser<HandshakeRequest> = parserOf(scores.HandshakeRequest);
export const parseOutcomeRequest: Parser<OutcomeRequest> = parserOf(outcomes.OutcomeRequest);
export const parseSignedOutcome = parserOf(outcomes.SignedOutcome);

export const parseProvenanceRecord: Parser<ProvenanceRecord> = parserOf(decisions.ProvenanceRecord);
export const parseReplayRequest = parserOf(decisions.ReplayRequest);
export const parseReviewResolution = parserOf(decisions.ReviewResolution);

export const parseReporterKeyRequest = parserOf(reporters.ReporterKeyRequest);
export const parseReporterKeyRevocation = parserOf(reporters.ReporterKeyRevocation);

export const parseNamespaceGrant = parserOf(namespaces.NamespaceGrant);
export const parseNamespaceTransfer = parserOf(namespaces.NamespaceTransfer);

export const parseQuotaRequest = parserOf(quotas.QuotaRequest);

export const parseEvidenceRequest = parserOf(sources.EvidenceRequest);
export const parseEvidenceBatch = parserOf(sources.EvidenceBatch);
export const parseTextLabels = parserOf(sources.TextLabels);

export const parseConsoleLogin = parserOf(consoles.ConsoleLogin);

export const parseKeyRequest = parserOf(service.KeyRequest);
export const parseKeyPatch = parserOf(service.KeyPatch);
export const parseKeyRotation = parserOf(service.KeyRotation);
export const parseQueryRequest = parserOf(service.QueryRequest);
export const parseKaizenRunRequest = parserOf(kaizen.KaizenRunRequest);
export const parseKaizenPromoteRequest = parserOf(kaizen.KaizenPromoteRequest);
export const parseKaizenRollbackRequest = parserOf(kaizen.KaizenRollbackRequest);

export const parseWebhookRequest = parserOf(webhooks.WebhookRequest);
export const parseWebhookPatch = parserOf(webhooks.WebhookPatch);
export const parseWebhookRedelivery = parserOf(webhooks.WebhookRedeliveryRequest);

const parseVerifyEnvelope = parserOf(object({ items: batchOf(anything) }));
const readVerifyRequest = readerOf(scores.VerifyRequest);

/**
 * SPEC §4.9 "batch mode": each item is a request or the list of its own faults; only a wrong
 * envelope throws.
 */
export function parseVerifyBatch(value: unknown): (VerifyRequest | FieldError[])[] {
  const { items } = parseVerifyEnvelope(value);
  return items.map((item, index) => readVerifyRequest(item, `/items/${index}`));
}

// Parsed values -> the wire requests (SPEC §2.2, §2.4, §2.6, §4.3), every member checked
// and copied. All faults of a body are reported together. Unknown members are ignored: the spec's
// own routes must accept a newer caller.
import type { ProvenanceRecord } from "../schemas/decisions.ts";
import type { ImportedOutcome, OutcomeRequest } from "../schemas/outcomes.ts";
import type { CheckRequest, HandshakeRequest, VerifyRequest } from "../schemas/scores.ts";
import type { FieldError } from "../faults.ts";
import * as consoles from "../schemas/console.ts";
import * as decisions from "../schemas/decisions.ts";
import * as kaizen from "../schemas/kaizen.ts";
import * as namespaces from "../schemas/namespaces.ts";
import * as quotas from "../schemas/quotas.ts";
import * as outcomes from "../schemas/outcomes.ts";
import * as reporters from "../schemas/reporter-keys.ts";
import { anything, defineBatch, defineObject } from "../schemas/schema.ts";
import * as scores from "../schemas/scores.ts";
import * as service from "../schemas/service.ts";
import * as sources from "../schemas/sources.ts";
import * as webhooks from "../schemas/webhooks.ts";
import { type Parser, createParser, createMessageReader } from "./parser.ts";

export const parseVerifyRequest: Parser<VerifyRequest> = createParser(scores.VerifyRequest);
export const parseCheckRequest: Parser<CheckRequest> = createParser(scores.CheckRequest);
export const parseHandshakeRequest: Parser<HandshakeRequest> = createParser(
  scores.HandshakeRequest,
);
export const parseOutcomeRequest: Parser<OutcomeRequest> = createParser(outcomes.OutcomeRequest);
export const parseImportedOutcome: Parser<ImportedOutcome> = createParser(outcomes.ImportedOutcome);
export const parseSignedOutcome = createParser(outcomes.SignedOutcome);
export const parseTransaction = createParser(outcomes.Transaction);

export const parseProvenanceRecord: Parser<ProvenanceRecord> = createParser(
  decisions.ProvenanceRecord,
);
export const parseReplayRequest = createParser(decisions.ReplayRequest);
export const parseReviewResolution = createParser(decisions.ReviewResolution);

export const parseReporterKeyRequest = createParser(reporters.ReporterKeyRequest);
export const parseReporterKeyRevocation = createParser(reporters.ReporterKeyRevocation);

export const parseNamespaceGrant = createParser(namespaces.NamespaceGrant);
export const parseNamespaceTransfer = createParser(namespaces.NamespaceTransfer);

export const parseQuotaRequest = createParser(quotas.QuotaRequest);

export const parseEvidenceRequest = createParser(sources.EvidenceRequest);
export const parseEvidenceBatch = createParser(sources.EvidenceBatch);
export const parseTextLabels = createParser(sources.TextLabels);

export const parseConsoleLogin = createParser(consoles.ConsoleLogin);

export const parseKeyRequest = createParser(service.KeyRequest);
export const parseKeyPatch = createParser(service.KeyPatch);
export const parseKeyRotation = createParser(service.KeyRotation);
export const parseQueryRequest = createParser(service.QueryRequest);
export const parseKaizenRunRequest = createParser(kaizen.KaizenRunRequest);
export const parseKaizenPromoteRequest = createParser(kaizen.KaizenPromoteRequest);
export const parseKaizenRollbackRequest = createParser(kaizen.KaizenRollbackRequest);

export const parseWebhookRequest = createParser(webhooks.WebhookRequest);
export const parseWebhookPatch = createParser(webhooks.WebhookPatch);
export const parseWebhookRedelivery = createParser(webhooks.WebhookRedeliveryRequest);

const parseVerifyEnvelope = createParser(defineObject({ items: defineBatch(anything) }));
const readVerifyRequest = createMessageReader(scores.VerifyRequest);

/**
 * SPEC §4.9 "batch mode": each item is a request or the list of its own faults; only a wrong
 * envelope throws.
 */
export function parseVerifyBatch(value: unknown): (VerifyRequest | FieldError[])[] {
  const { items } = parseVerifyEnvelope(value);
  return items.map((item, index) => readVerifyRequest(item, `/items/${index}`));
}

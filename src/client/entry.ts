// Public surface of `@trustrank/client`: the exports to which the version number applies. The
// framework adapters have entries of their own (`@trustrank/client/ai-sdk` and so on), so that
// unused ones are not loaded.
export {
  type ApprovalOptions,
  type ApprovalPolicy,
  checkApproval,
  type CheckApprovalOptions,
  handshakeApproval,
  type HandshakeApprovalOptions,
  type ToolCall,
  type ToolDecision,
} from "./gates/approval.ts";
export type { ActionVerdict } from "./gates/action-verdict.ts";
export { approvalByTool, type PoliciesByTool, type ToolInput } from "./gates/approval-by-tool.ts";
export {
  type CheckVerdict,
  type ConnectDecision,
  type HandshakeVerdict,
  TrustRankClient,
} from "./client.ts";
export type { VerdictChange } from "./changes/change.ts";
export type { ChangeFollower, ChangeHandlers } from "./changes/follower.ts";
export type { TrustRankClientOptions } from "./options.ts";
export type { Review } from "./review.ts";
export { useTrustRank } from "./default-client.ts";
export { TrustGateError, TrustRankError } from "./errors.ts";
export { mutualHandshakeApproval, trustRankApproval } from "./adapters/eve.ts";
export { type FailPolicy, failPolicy } from "./gateway/fail-policy.ts";
export {
  type GatewayArrival,
  type GatewayCall,
  type GatewayCheck,
  type GatewayRequest,
  type HandshakeOptions,
  TrustGateway,
  type TrustGatewayOptions,
} from "./gateway/gateway.ts";
export type { GatewayCounts } from "./gateway/verdict-resolver.ts";
export type { RefreshOptions } from "./gateway/refresher.ts";
export type { AlertTarget } from "./alert-poster.ts";
export type { OutageAlert } from "./outage-alert.ts";
export type { OutcomeResult, SignedOutcome } from "./reporting/outcome-batch.ts";
export { outcomeHook, type OutcomeHookOptions } from "./reporting/outcome-hook.ts";
export { type OutcomeDrop, OutcomeQueue } from "./reporting/outcome-queue.ts";
export {
  type OutcomeReport,
  outcomeReport,
  type OutcomeReportOptions,
} from "./reporting/outcome-report.ts";
export type { SkippedCall, SkippedCounts } from "./reporting/skipped-calls.ts";
export { AgentFaultError, type ToolEnd } from "./reporting/tool-end.ts";
export { type AnswerProvenance, protectRoute, type ProtectOptions } from "./gateway/protect.ts";
export {
  contentHash,
  type ProvenanceDrop,
  type ProvenanceInput,
  ProvenanceQueue,
} from "./reporting/provenance.ts";
export type { KeyRegistration } from "./reporting/reporter-key.ts";
export {
  answerHeaders,
  type GatewayAnswer,
  type GatewayLog,
  type VerificationState,
} from "./ruling.ts";
export type { VerificationCallback, WeakerLeg } from "./verification.ts";
export {
  createOutcomeSigner,
  generateSigningKey,
  importSigningKey,
  type OutcomeSigner,
  type PrivateKeyJwk,
  signOutcome,
  type SigningKeyPair,
  signTransaction,
} from "./reporting/sign.ts";
export {
  type GateCall,
  trustGate,
  type TrustGateOptions,
  TrustGateUnavailableError,
} from "./gates/trust-gate.ts";
export { readTrustMark, type TrustMark } from "./gates/trust-mark.ts";
export { withTrustRank, type WithTrustRankOptions } from "./gates/with-trust-rank.ts";
export type { WebhookEndpoints } from "./webhooks/endpoints.ts";
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./webhooks/verify.ts";

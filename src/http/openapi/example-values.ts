// Values of the examples in the OpenAPI document: by the name of a member, so that every message shows
// the same agent, the same decision and the same hour, and a new message has an example at once.

type Json = Record<string, unknown>;

const AGENT = "agent://acme/ledger-sync";
const COUNTERPARTY = "agent://globex/invoice-bot";
const REQUEST_ID = "019c9f3b-8c00-7000-8000-0123456789ab";
const TIME = "2026-03-01T12:00:00.000Z";
const LATER = "2026-03-01T12:05:00.000Z";
const KEY_ID = "k3yid00001";
const THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
/** Of `The invoice totals 840 EUR.` as UTF-8. */
const DIGEST = "sha256:9d616cd8c46d46c38275348c7818f8ea6549ebe0232cc44633fdcded0a84bb22";
const JWK = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
const CONFIG = "c-0123456789abcdef";
const POLICY = "p-0123456789abcdef";
const JWS = "eyJhbGciOiJFZDI1NTE5In0..c2lnbmF0dXJl";

/** Of a member that has this name, wherever it stands, if its schema takes it. */
export const EXAMPLES_BY_MEMBER: Readonly<Json> = {
  access_evaluation_endpoint: "https://bureau.example/access/v1/evaluation",
  access_evaluations_endpoint: "https://bureau.example/access/v1/evaluations",
  action: "payments.transfer",
  actions: [
    {
      match: "wire.*",
      resource: "ledger/*",
      when: { "/context/env": "production" },
      level: "L3",
      stakes: "/resource/properties/amount",
    },
  ],
  action_entry: { pointer: "/actions/3", tool_level: "L2", stakes: 840 },
  agent: AGENT,
  agent_id: AGENT,
  allowed: true,
  audience: "tr-7f3a9c21",
  body: '{"subject":"agent://acme/ledger-sync","reporter":"agent://globex/invoice-bot","outcome":1,"stakes":840,"grade":"counterparty"}',
  chain_hash: DIGEST,
  champion_version: CONFIG,
  code: "range",
  comment: "the agent",
  complete: true,
  confidence: 0.94,
  config: CONFIG,
  config_version: CONFIG,
  connected: true,
  content: "The invoice totals 840 EUR.",
  content_hash: DIGEST,
  content_type: "text/plain",
  counted: true,
  counterparty: COUNTERPARTY,
  credibility: 0.42,
  day: "2026-03-01",
  days: ["2026-02-28", "2026-03-01"],
  decision: "connect",
  detail: "range must be 0 to 1000000000000",
  effective_score: 91.5,
  elapsed_ms: 1.5,
  enforced: true,
  errors: [],
  evaluated_at: TIME,
  expires_at: LATER,
  failure_optimistic: 0.01,
  failure_pessimistic: 0.06,
  failure_probability: 0.03,
  flagged: true,
  granted_by: KEY_ID,
  id: "invoice-2026-0042",
  identical: true,
  improvements: [],
  initiator: AGENT,
  instance: "/v1/trust/verify",
  internal_score: 784,
  is_truncated: false,
  jws: JWS,
  key: "tr_live_k3yid00001_shown-in-this-answer-and-nowhere-else",
  key_id: KEY_ID,
  kid: THUMBPRINT,
  known: true,
  label: "payments gateway",
  last_outcome_at: TIME,
  leaf: DIGEST,
  max_proven_stakes: 5000,
  max_stakes: 2500,
  minimum_score: 650,
  model: "g-0123456789abcdef",
  name: "subject",
  namespace: "acme",
  nonce: "bm9uY2UtMDEyMzQ1Njc4OQ",
  outcome: 1,
  outcome_id: "invoice-2026-0042",
  path: [DIGEST],
  policy_decision_point: "https://bureau.example",
  policy_version: POLICY,
  pointer: "/stakes",
  position: 184213,
  prev_hash: DIGEST,
  question: "What does the invoice total?",
  ready: true,
  reason: "The cited sources are registered and intact.",
  reason_codes: [],
  reasons: [],
  recorded_at: TIME,
  recorded_config: CONFIG,
  recorded_policy: POLICY,
  registrar: KEY_ID,
  replayed_config: CONFIG,
  replayed_policy: POLICY,
  reporter: COUNTERPARTY,
  request_id: REQUEST_ID,
  resolution: "upheld",
  reviewer: KEY_ID,
  root: DIGEST,
  rows: [[AGENT]],
  run_id: "k-42",
  score: 88,
  service_id: "tr-7f3a9c21",
  session_duration_sec: 42,
  set_by: KEY_ID,
  sha256: DIGEST,
  signature: "reporter",
  source_id: "doc:invoice-2026-0042",
  cited_sources: ["doc:invoice-2026-0042"],
  source_verified: true,
  sql: "SELECT subject, failures FROM agents ORDER BY failures DESC LIMIT 10",
  stakes: 840,
  started_by: KEY_ID,
  stands_for: 1,
  trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  node: "one",
  subject: AGENT,
  tenant: "acme",
  text: "The invoice totals 840 EUR.",
  threshold_met: true,
  tier: "A",
  time_zone: "Europe/Zurich",
  title: "Invoice 2026-0042",
  tool_level: "L2",
  tool_level_max: "L3",
  type: "VARCHAR",
  version: "0.1.0",
  viewer: COUNTERPARTY,
  warnings: [],
  weight: 1,
  x: JWK.x,
};

const VERIFY = {
  agent_id: AGENT,
  action: "payments.transfer",
  tool_level: "L2",
  stakes: 840,
  context: { session_duration_sec: 42 },
};
const EVALUATION = {
  subject: { type: "agent", id: AGENT },
  action: { name: "transfer", properties: { tool_level: "L2", stakes: 840 } },
  resource: { type: "payments", id: "account-1" },
};
const EVIDENCE = {
  text: "Invoice 2026-0042 totals 840 EUR.",
  kind: "text/plain",
  title: "Invoice 2026-0042",
};
const OUTCOME = {
  subject: AGENT,
  reporter: COUNTERPARTY,
  outcome: 1,
  stakes: 840,
  grade: "counterparty",
  id: "invoice-2026-0042",
  request_id: REQUEST_ID,
};
const SUSPENSION = {
  state: "suspended",
  reason: { code: "fraud", text: "Invoices were forged." },
  case: "INC-7",
};
const POLICY_RULES = {
  levels: { L2: { allow_up_to: 0.08 }, L3: { minimum_score: 700 } },
  vouched: [{ namespace: "agent://acme/*", until: "2027-01-01T00:00:00.000Z" }],
};

/** Of a whole message, where its members depend on one another. */
export const EXAMPLES_BY_MESSAGE: Readonly<Json> = {
  VerifyRequest: VERIFY,
  VerifyBatchRequest: { items: [VERIFY] },
  OutcomeRequest: OUTCOME,
  OutcomeBatchRequest: [OUTCOME],
  AuthzenEvaluation: EVALUATION,
  AuthzenEvaluations: { ...EVALUATION, evaluations: [{}, { resource: EVALUATION.resource }] },
  EvidenceRequest: EVIDENCE,
  EvidenceItem: { source_id: "doc:invoice-2026-0042", ...EVIDENCE },
  EvidenceBatch: { items: [{ source_id: "doc:invoice-2026-0042", ...EVIDENCE }] },
  DisputeRequest: {
    agent: AGENT,
    level: "L2",
    statement: "The two failed payments were recalled by the bank, not by the agent.",
    contact: "ops@acme.example",
  },
  ReportLinkRequest: { valid_sec: 604_800 },
  PolicyRequest: POLICY_RULES,
  PolicyDiffRequest: { policy: POLICY_RULES, last: 10_000 },
  BacktestRequest: { policy: POLICY_RULES, from: "2026-02-01T00:00:00.000Z" },
  KeyRequest: { tenant: "acme", scopes: ["score:read"], label: "payments gateway" },
  KeyPatch: { label: "payments gateway", minimum_scores: { L3: 700 } },
  KeyRotation: { overlap_sec: 3600 },
  ConditionRequest: SUSPENSION,
  ConditionBatch: { conditions: [{ subject: AGENT, ...SUSPENSION }] },
  StopRequest: { above: "L1", reason: SUSPENSION.reason },
  KaizenRunRequest: { dry_run: true },
  KaizenRollbackRequest: { reason: "more escalations than expected" },
  ReporterKeyRequest: { jwk: JWK, proof: "eyJhbGciOiJFZDI1NTE5In0.bm9uY2U.c2lnbmF0dXJl" },
  ReporterKeyRevocation: { kid: THUMBPRINT },
  SignedRoot: {
    root: DIGEST,
    tree_size: 1204,
    chain_hash: DIGEST,
    signed_at: TIME,
    jws: JWS,
    jwk: { ...JWK, kid: THUMBPRINT, alg: "EdDSA", use: "sig" },
  },
};

/** Of anything that has this form. */
export const EXAMPLES_BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": TIME,
  uri: "urn:trustrank:problem:invalid_request",
};

/** Of path and query parameters, and of headers. */
export const EXAMPLES_BY_PARAMETER: Readonly<Record<string, string>> = {
  action: "payments.transfer",
  agent_id: AGENT,
  stakes: "840",
  id: AGENT,
  path: "orders/42",
  view: "outcomes",
  namespace: "acme",
  source_id: "doc:invoice-2026-0042",
  request_id: REQUEST_ID,
  day: "2026-03-01",
  since: "2026-03-01",
};

export const REQUEST_ID_EXAMPLE = REQUEST_ID;
export const TIME_EXAMPLE = TIME;
export const AGENT_EXAMPLE = AGENT;

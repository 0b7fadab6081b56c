// Lines of sections 1 and 3: what the service is for, and its value sets.
import type { SpecificationLine } from "./_lines.ts";

export const SERVICE: readonly SpecificationLine[] = [
  {
    id: "1-authorize",
    says: "answers whether a caller and its request are to be trusted, with reasons; others prove who calls",
    state: "met",
    here: "`agent_id` is believed; only API keys and reporters' signatures are authenticated",
    by: ["all"],
  },
  {
    id: "1-history",
    says: "an agent's history makes its score",
    state: "met",
    by: ["all"],
  },
  {
    id: "1-provenance",
    says: "the provenance of content counts in the score",
    state: "met",
    here: "findings lower the reported score of the request and have rules of their own; repeated certain findings also lower the agent's score",
    by: [
      "all",
      [
        "test/bureau/decisions/provenance.test.ts",
        "%s lowers the score and sets the risk to HIGH at least",
      ],
    ],
  },
  {
    id: "1-behavior",
    says: "patterns of behavior count in the score",
    state: "in part",
    here: "trend, recency and sudden change of outcomes count (`regime`); rates of calls and new actions do not",
    by: ["all"],
  },
  {
    id: "1-content",
    says: "reports whether content looks hallucinated and whether its sources are verified",
    state: "met",
    by: ["all", "HTTP"],
  },
  {
    id: "1-verify",
    says: "verification: one synchronous call gives score, threshold flag, risk level and verdict",
    state: "met",
    by: ["all"],
  },
  {
    id: "1-handshake",
    says: "handshake: one call scores both directions at given stakes; the stricter leg decides",
    state: "met",
    by: ["all"],
  },
  {
    id: "1-outcomes",
    says: "reported outcomes are evidence for later scores",
    state: "met",
    by: ["all"],
  },
  {
    id: "1-kaizen",
    says: "weights are fitted again on a schedule, to recent signed outcomes",
    state: "met",
    here: "Mondays at 03:00 UTC; a run that was missed is made up for",
    by: [
      "HTTP",
      [
        "test/kaizen/service/schedule.test.ts",
        "catches up once it has served for a minute, and not again",
      ],
    ],
  },
  {
    id: "1-gates",
    says: "a fitted configuration goes live only if every statistical gate passes",
    state: "met",
    by: [
      "HTTP",
      [
        "test/kaizen/service/service.test.ts",
        "serves the promoted config with the next read, until rolled back",
      ],
    ],
  },
  {
    id: "1-levels",
    says: "the tool level, L0 to L3, decides what a gateway does without the service",
    state: "met",
    by: ["client"],
  },
  {
    id: "1-free",
    says: "being scored costs nothing",
    state: "met",
    here: "nor do reports, disputes, and reads about the test agents (`agent://test/...`), which are counted apart",
    by: ["HTTP"],
  },
  {
    id: "1-paid",
    says: "every score that is read is charged",
    state: "met",
    here: "each score that leaves counts, by API key, kind and UTC day; a handshake is one read, a list one an agent on the page. Counts outlive the process: a kill loses a second of them at most, and nothing is counted twice. Once a tenant's quota is used up, every paid read is 429",
    by: [
      "HTTP",
      [
        "test/http/reads/spent-quota.test.ts",
        "no route gives a score once the quota is used up, and paid routes do before",
      ],
      ["test/http/reads/metered-reads.test.ts", "counts what the answers gave, exactly"],
    ],
  },
  {
    id: "1-integration",
    says: "callers integrate by an outbound gate, an inbound gate, a write rail and a TypeScript client",
    state: "met",
    by: ["client"],
  },
  {
    id: "3-tool-levels",
    says: "tool levels `L0` public, `L1` info, `L2` sensitive, `L3` critical",
    state: "met",
    here: "in this order",
    by: ["all", "HTTP"],
  },
  {
    id: "3-risk-levels",
    says: "risk levels `LOW`, `MEDIUM`, `HIGH`, `CRITICAL`",
    state: "met",
    here: "in this order; each is given",
    by: ["all"],
  },
  {
    id: "3-verdicts",
    says: "policy verdicts `ALLOW`, `BLOCK`, `CHALLENGE`, `QUARANTINE`",
    state: "met",
    here: "from mild to strict: `ALLOW`, `CHALLENGE`, `QUARANTINE`, `BLOCK`; each is given",
    by: ["all"],
  },
  {
    id: "3-decisions",
    says: "connect decisions `connect`, `connect_with_verification`, `escalate`, `refuse`",
    state: "met",
    here: "in this order; each is given",
    by: ["all"],
  },
  {
    id: "3-connect",
    says: "`connect`: neither side objects at these stakes, and nothing else is asked",
    state: "met",
    by: ["all", "client"],
  },
  {
    id: "3-verification",
    says: "`connect_with_verification`: it opens once the agent of the weaker leg was verified further",
    state: "met",
    here: "`verification` of gates, approvals and `TrustGateway` gets the verdict and the weaker leg, and only `true` lets the call proceed; without one an approval asks a person, and whom verify allows although verification is due is admitted with a mark (`X-Trust-Verification: due`)",
    by: ["all", "client"],
  },
  {
    id: "3-escalate",
    says: "`escalate`: the connection waits for a person's approval",
    state: "met",
    here: "the answer has `review`, whose path answers once somebody has decided; the decision holds for later answers until it expires ([reviews](guide/reviews.md))",
    by: ["all", "HTTP"],
  },
  {
    id: "3-parked",
    says: "until then the tool's framework keeps the session, also over a restart",
    state: "met",
    here: "adapters use each framework's own approval; with `reviewWaitMs` an approval waits for the review",
    by: [
      "client",
      [
        "test/client/adapters/openai-agents.test.ts",
        "parks an escalation, and runs it for one paid read once approved",
      ],
    ],
  },
  {
    id: "3-refuse",
    says: "`refuse`: no connection, and HTTP 403 with the scored reason",
    state: "met",
    by: ["all", "HTTP"],
  },
  {
    id: "3-audit",
    says: "both sides can audit a refusal",
    state: "in part",
    here: "the asking tenant finds it in `GET /v1/decisions`, with the inputs of both legs, and can replay it; the refused side gets reasons by a shared report and may dispute, but does not see the decision",
    by: ["HTTP"],
  },
  {
    id: "3-transitions",
    says: "moves between these values are not described",
    state: "open",
    here: "there are none: each answer is computed anew, and only a reviewer's decision holds until its expiry",
    by: ["HTTP"],
  },
];

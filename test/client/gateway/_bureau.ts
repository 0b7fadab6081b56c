// A real bureau in this process behind the client's `fetch`: parser, engine, policy and answer as
// they are, without a socket. Counts paid reads, as the service does: one per verdict given.
import type { Bureau } from "../../../src/bureau/bureau.ts";
import { ReviewDecisionCache } from "../../../src/bureau/reviews/decision-cache.ts";
import { openBureau } from "../../../src/bureau/open.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import type { Principal } from "../../../src/contract/principal.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  VerifyRequest,
  VerifyResponse,
} from "../../../src/contract/schemas/scores.ts";
import { parseCheckRequest, parseHandshakeRequest } from "../../../src/contract/parse/requests.ts";
import { parseVerifyBatch, parseVerifyRequest } from "../../../src/contract/parse/requests.ts";
import type { EngineReader } from "../../../src/engine/reading.ts";
import { UuidV7Generator } from "../../../src/platform/uuid.ts";
import type { PolicySource } from "../../../src/policy/active-policy.ts";
import { closedLedger, principal as anyone } from "../../bureau/_harness.ts";

export interface BureauDoor {
  readonly fetch: FetchLike;
  /** Paid reads by route. */
  readonly reads: { verify: number; check: number; handshake: number };
  /** The answer of a fresh question, without a client and uncounted. */
  verify(request: Omit<VerifyRequest, "context">): VerifyResponse;
  check(subject: string, stakes: number): CheckResponse;
  handshake(initiator: string, counterparty: string, stakes: number): HandshakeResponse;
}

export function openDoor(
  engine: EngineReader,
  clock: () => number,
  policies?: PolicySource,
  minimumScores?: Principal["minimumScores"],
): BureauDoor {
  const open = (): Bureau =>
    openBureau({
      engine,
      ledger: closedLedger,
      reviews: new ReviewDecisionCache(() => undefined),
      clock,
      environment: {
        delay: () => Promise.resolve(),
        outcomeIds: new UuidV7Generator((bytes) => bytes.fill(7)),
        isReservedEnabled: true,
      },
      ...(policies === undefined ? {} : { policies }),
    });
  const principal = minimumScores === undefined ? anyone : { ...anyone, minimumScores };
  const call = { requestId: "request-1", principal };
  const [bureau, other] = [open(), open()];
  const reads = { verify: 0, check: 0, handshake: 0 };
  const routes: Record<string, (body: unknown) => unknown> = {
    "/v1/trust/verify": (body) => {
      reads.verify += 1;
      return bureau.verify(parseVerifyRequest(body), call);
    },
    "/v1/trust/verify/batch": (body) => {
      const items = parseVerifyBatch(body) as VerifyRequest[];
      reads.verify += items.length;
      return { items: items.map((item) => ({ status: 200, result: bureau.verify(item, call) })) };
    },
    "/v1/check": (body) => {
      reads.check += 1;
      return bureau.check(parseCheckRequest(body), call);
    },
    "/v1/handshake": (body) => {
      reads.handshake += 1;
      return bureau.handshake(parseHandshakeRequest(body), call);
    },
  };
  return {
    fetch: async (url, init) =>
      Response.json(routes[new URL(url).pathname]!(JSON.parse(init.body as string))),
    reads,
    verify: (request) => other.verify({ ...request, context: {} }, call) as VerifyResponse,
    check: (subject, stakes) => other.check({ subject, stakes }, call) as CheckResponse,
    handshake: (initiator, counterparty, stakes) =>
      other.handshake({ initiator, counterparty, stakes }, call) as HandshakeResponse,
  };
}

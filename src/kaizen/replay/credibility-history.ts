// Journal as a graph of reports for a batch of credibility: reports, signing keys and the standings
// last written. Outcomes signed with compromised keys are left out, as in the fold.
import {
  transferKeyAuthority,
  isNamespaceEvent,
  type KeyAuthority,
  extractNamespace,
  NamespaceOwners,
  type RegistryEvent,
} from "../../contract/namespaces.ts";
import { VOICE_STRANGER } from "../../contract/voices.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { AgentStanding } from "../../engine/reading.ts";
import type { StandingHistory } from "../credibility/standings.ts";
import { OutcomeExclusions } from "../../journal/exclusions.ts";
import { diskFileLayer } from "../../platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameTimeUs,
} from "../../journal/format.ts";
import {
  decodeFoldedOutcome,
  createFoldedOutcome,
  isImportedOutcome,
} from "../../journal/folded-outcome.ts";
import { readOutcomeSignatureIndex } from "../../journal/outcome.ts";
import { JournalReader } from "../../journal/reader.ts";
import { isRegistryKind } from "../../journal/revoked-agents.ts";
import { StandingsOrder } from "../../journal/standings.ts";
import { createByteColumn, createFloatColumn, createWordColumn } from "./history.ts";

const CHUNK = 65_536;
const UNSIGNED = 0;

/** Signing keys in force, and the exclusions by revocations. */
class SigningKeyHolders {
  readonly exclusions = new OutcomeExclusions();
  readonly #owners = new NamespaceOwners();
  readonly #holders = new Map<string, { agent: string; act: KeyAuthority }>();

  take(payload: Buffer): void {
    this.exclusions.applyRegistryEvent(payload);
    const event = JSON.parse(payload.toString()) as RegistryEvent;
    this.#owners.apply(event);
    if (isNamespaceEvent(event)) {
      for (const [kid, { agent, act }] of this.#holders) {
        if (extractNamespace(agent) !== event.namespace) continue;
        const left = transferKeyAuthority(act, event);
        if (left === undefined) this.#holders.delete(kid);
        else this.#holders.set(kid, { agent, act: left });
      }
    } else if (event.event === "revoked") this.#holders.delete(event.kid);
    else {
      const { agent } = event;
      this.#holders.set(event.kid, { agent, act: this.#owners.selectKeyAuthority(event, agent) });
    }
  }

  holders(): Map<string, string> {
    return new Map([...this.#holders.values()].map(({ agent, act }) => [agent, act.tenant]));
  }
}

class StandingHistoryBuilder {
  readonly ids: string[] = [];
  readonly written = new Map<string, AgentStanding>();
  stakesHigh = 0;
  isInForce = false;
  readonly keys = new SigningKeyHolders();
  readonly #numbers = new Map<string, number>();
  readonly #reporters = createWordColumn();
  readonly #subjects = createWordColumn();
  readonly #failures = createByteColumn();
  readonly #signatures = createByteColumn();
  readonly #strangers = createByteColumn();
  readonly #weights = createFloatColumn();
  readonly #stakes = createFloatColumn();
  readonly #folded = createFoldedOutcome();
  readonly #batches = new StandingsOrder();
  readonly #config: ScoringConfig;

  constructor(config: ScoringConfig) {
    this.#config = config;
  }

  takeKey(bytes: Buffer, at: number): void {
    if (!isRegistryKind(readFrameKind(bytes, at))) return;
    const start = at + FRAME_HEAD_BYTES;
    this.keys.take(Buffer.from(bytes.subarray(start, start + readPayloadLength(bytes, at))));
  }

  take(bytes: Buffer, at: number): void {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.standings) this.#takeStandings(bytes, at);
    if (kind !== FRAME_KINDS.outcome || this.keys.exclusions.isExcluded(bytes, at)) return;
    const folded = this.#folded;
    if (!decodeFoldedOutcome(bytes, at, folded)) return;
    const isStranger = folded.voice >= VOICE_STRANGER;
    const isSigned = isStranger && !isImportedOutcome(bytes, at);
    const signature = isSigned ? readOutcomeSignatureIndex(bytes, at) : folded.signatureIndex;
    // Its reporter is a claim of the sender's: it gives no trust, teaches no stakes, makes no cluster.
    // One that signed is no claim; what its word is worth is what the batch computes.
    if (isStranger && signature === UNSIGNED) return;
    const { grade_weights, signature_weights } = this.#config;
    const graded = grade_weights[folded.gradeIndex]!;
    this.#reporters.push(this.#assignNumber(folded.reporter));
    this.#subjects.push(this.#assignNumber(folded.subject));
    this.#failures.push(1 - folded.outcome);
    this.#signatures.push(signature);
    this.#strangers.push(isStranger ? 1 : 0);
    this.#weights.push(graded * signature_weights[signature]!);
    this.#stakes.push(folded.stakes);
  }

  #assignNumber(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    this.#numbers.set(id, this.ids.length);
    return this.ids.push(id) - 1;
  }

  #takeStandings(bytes: Buffer, at: number): void {
    const standings = this.#batches.decodeIfInOrder(bytes, at);
    if (standings === undefined) return;
    const { agents, stakesHigh, isInForce } = standings;
    for (const standing of agents) this.written.set(standing.agent, standing);
    this.stakesHigh = stakesHigh;
    this.isInForce = isInForce;
  }

  finish(): StandingHistory {
    const { ids, written, stakesHigh, isInForce } = this;
    const keyHolders = this.keys.holders();
    const signs = Uint8Array.from(ids, (id) => (keyHolders.has(id) ? 1 : 0));
    const reporters = this.#reporters.values();
    const weights = this.#weights.values();
    const signatures = this.#signatures.values();
    for (let i = 0; i < weights.length; i++) {
      // A name can be claimed by anyone: a reporter with a key gives trust only by signing.
      if (signatures[i] === UNSIGNED && signs[reporters[i]!] === 1) weights[i] = 0;
    }
    const edges = {
      agents: ids.length,
      reporters,
      subjects: this.#subjects.values(),
      failures: this.#failures.values(),
      weights,
      strangers: this.#strangers.values(),
      count: weights.length,
    };
    return {
      ids,
      edges,
      stakes: this.#stakes.values(),
      keyHolders,
      written,
      stakesHigh,
      isInForce,
    };
  }
}

/** When a record came in, epoch ms: an import when it settled. */
function computeArrivalMs(bytes: Buffer, at: number): number {
  const isOutcome = readFrameKind(bytes, at) === FRAME_KINDS.outcome;
  if (!isOutcome || !isImportedOutcome(bytes, at)) return readFrameTimeUs(bytes, at) / 1000;
  const folded = createFoldedOutcome();
  return decodeFoldedOutcome(bytes, at, folded) ? folded.settledAtMs : Number.POSITIVE_INFINITY;
}

interface StandingHistoryBounds {
  /** Epoch ms: what came in later is left out. */
  asOfMs?: number | undefined;
  /** Position up to which outcomes are left out; standings and keys are read from the start. */
  afterLsn?: number | undefined;
}

/** Reads the journal up to a durable position. */
export function readStandingHistory(
  directory: string,
  uptoLsn: number,
  config: ScoringConfig,
  { asOfMs = Number.POSITIVE_INFINITY, afterLsn = 0 }: StandingHistoryBounds = {},
): StandingHistory {
  const found = new StandingHistoryBuilder(config);
  const reader = new JournalReader(diskFileLayer, directory);
  try {
    // A revocation may follow the outcomes it excludes at any distance.
    reader.readRecords(0, uptoLsn, Number.POSITIVE_INFINITY, (bytes, at) =>
      found.takeKey(bytes, at),
    );
    for (let at = 0; at < uptoLsn;) {
      at = reader.readRecords(at, uptoLsn, CHUNK, (bytes, offset, lsn) => {
        const isOutcome = readFrameKind(bytes, offset) === FRAME_KINDS.outcome;
        if (isOutcome && lsn <= afterLsn) return;
        if (computeArrivalMs(bytes, offset) <= asOfMs) found.take(bytes, offset);
      });
    }
  } finally {
    reader.close();
  }
  return found.finish();
}

// What the vault says of one request's content and citations (provenance.md 4 and 5). Exact
// findings come first and may be hard failures; the grounding score can only raise doubt. Runs in
// the callback of the reply: no waiting, bounded work, one finding out.
import { hash } from "node:crypto";

import { ONE } from "../../assembly/grounding/layout.ts";
import type { VerifyContext } from "../contract/messages.ts";
import { Catalogue, NOT_FOUND, tenantWord } from "./catalogue.ts";
import { CitationMemory } from "./citation-memory.ts";
import { finding, FINDINGS, quote, unknownFinding } from "./findings.ts";
import type { Finding } from "./findings.ts";
import { GroundingReader } from "./grounding.ts";
import type { GroundingReading } from "./grounding.ts";
import { readNumbers } from "./grounding-tables.ts";
import type { KindNumbers } from "./grounding-tables.ts";
import { checkIdentifier } from "./identifiers.ts";
import type { IdentifierStanding } from "./identifiers.ts";
import { TaintedTexts } from "./minhash.ts";
import { textKindOf } from "./text-kinds.ts";
import type { VaultMemory } from "./vault.ts";

/**
 * Units of text times documents with text that are scored on the spot: 1 to 2 ms at the 12 to 24 ns
 * per unit that bench:grounding measures. What is larger is reported as not assessed.
 */
export const INLINE_WORK_MAX = 65_536;
/** The same for a thread of a batch, which keeps nobody else waiting. */
export const BATCH_WORK_MAX = 1_048_576;

/** Status of one cited source, from harmless to grave: the order is the order of reasons. */
const STATUSES = [
  "SOURCE_VERIFIED",
  "SOURCE_UNKNOWN",
  "SOURCE_DOUBTFUL",
  "SOURCE_REVOKED",
  "SOURCE_RETRACTED",
  "CITATION_MISMATCH",
  "SOURCE_RECORDED_FALSE",
  "SOURCE_MALFORMED",
] as const;
type Status = (typeof STATUSES)[number];

interface Cited {
  id: string;
  status: Status;
  /** In the catalogue; -1 when it is not there or does not count. */
  number: number;
}

/** Assesses in one thread; takes a grounding scratch of its own. */
export class VaultAssessor {
  readonly #catalogue: Catalogue;
  readonly #tainted: TaintedTexts;
  readonly #reader: GroundingReader;
  readonly #numbers = readNumbers();
  readonly #clock: () => number;
  readonly #citations = new CitationMemory();

  readonly #workMax: number;

  constructor(memory: VaultMemory, clock: () => number, workMax = INLINE_WORK_MAX) {
    this.#catalogue = new Catalogue(memory.catalogue);
    this.#tainted = new TaintedTexts(memory.tainted);
    this.#reader = new GroundingReader(memory.grounding);
    this.#clock = clock;
    this.#workMax = workMax;
  }

  /** One finding for what the request says of its content and sources, as `tenant` may see it. */
  assess(context: VerifyContext, tenant: string): Finding {
    const { content, content_hash, cited_sources } = context;
    if (content === undefined && content_hash === undefined && cited_sources === undefined) {
      return FINDINGS.notAssessed;
    }
    const digest = content === undefined ? content_hash?.slice(7) : sha256Hex(content);
    if (
      content !== undefined &&
      content_hash !== undefined &&
      content_hash !== `sha256:${digest}`
    ) {
      return FINDINGS.hashMismatch;
    }
    const tainted = this.#taintOf(digest, content, tenant);
    if (tainted?.hardFailureCode) return tainted;
    if (cited_sources === undefined || cited_sources.length === 0) {
      return tainted ?? FINDINGS.noSources;
    }
    if (this.#catalogue.size === 0) {
      const unknown = this.#ofEmptyVault(cited_sources);
      if (unknown !== undefined) return unknown;
    }
    const cited = cited_sources.map((id) => this.#cite(id, tenant));
    const assessed = this.#weigh(context, cited, tenant, digest);
    return assessed.hardFailureCode !== "" || tainted === undefined ? assessed : tainted;
  }

  /**
   * The short way for a bureau that registers nothing: sources whose names are beyond doubt are
   * unknown, and nothing else can be said. Undefined when one is not: then the long way.
   */
  #ofEmptyVault(ids: readonly string[]): Finding | undefined {
    const sources: { id: string; status: Status }[] = [];
    for (const id of ids) {
      if (checkIdentifier(id, this.#clock).standing !== "valid") return undefined;
      sources.push({ id, status: "SOURCE_UNKNOWN" });
    }
    return unknownFinding(sources, false);
  }

  #taintOf(digest: string | undefined, content: string | undefined, tenant: string) {
    if (digest === undefined || this.#catalogue.size === 0) return undefined;
    const state = this.#catalogue.stateOfContent(tenant, digest);
    if (state === "recorded_false") return FINDINGS.contentFalse;
    if (state === "retracted") return FINDINGS.contentRetracted;
    if (content !== undefined && this.#tainted.holds(content, tenantWord(tenant))) {
      return FINDINGS.contentNearFalse;
    }
    return undefined;
  }

  #cite(id: string, tenant: string): Cited {
    const number = this.#catalogue.find(tenant, id);
    if (number === NOT_FOUND) {
      const { standing } = checkIdentifier(id, this.#clock);
      return { id, status: UNREGISTERED[standing], number };
    }
    // What someone registered exists, whatever its name looks like.
    const state = this.#catalogue.stateOf(number);
    if (state === "active") return { id, status: "SOURCE_VERIFIED", number };
    if (state === "revoked") return { id, status: "SOURCE_REVOKED", number: NOT_FOUND };
    const status = state === "retracted" ? "SOURCE_RETRACTED" : "SOURCE_RECORDED_FALSE";
    return { id, status, number: NOT_FOUND };
  }

  #weigh(
    context: VerifyContext,
    cited: Cited[],
    tenant: string,
    digest: string | undefined,
  ): Finding {
    const texts = cited.filter(
      ({ number }) => number !== NOT_FOUND && this.#catalogue.documentOf(number) >= 0,
    );
    const { content, question } = context;
    const work = (content?.length ?? 0) * texts.length;
    const isScored = content !== undefined && texts.length > 0 && work <= this.#workMax;
    const isStructured = texts.some(({ number }) => this.#catalogue.isStructured(number));
    const { kinds } = this.#numbers;
    const { top_share } = kinds[textKindOf(context, isStructured, false)];
    const reading = isScored ? this.#score(content, question ?? "", texts, top_share) : undefined;
    const kind = kinds[textKindOf(context, isStructured, reading?.sentenceCount === 1)];
    const worst = worstOf(cited);
    if (isGrave(worst.status)) return this.#sourceFinding(cited, worst);
    const isUnknown = cited.every(({ status }) => UNKNOWN.has(status));
    // In a bureau that registers nothing, an unknown source says nothing of the caller.
    if (isUnknown) return allUnknown(cited, this.#catalogue.size > 0);
    if (digest !== undefined && this.#citations.isChanged(tenant, digest, cited.map(idOf))) {
      return citationsChanged(cited, worst);
    }
    if (reading !== undefined && reading.risk >= kind.tau_lo) {
      return unsupported(cited, worst, content!, reading, kind);
    }
    if (worst.status !== "SOURCE_VERIFIED") return this.#sourceFinding(cited, worst);
    return verified(cited, content, work > this.#workMax, reading);
  }

  /** Scores the content and marks citations whose document does not speak of it. */
  #score(content: string, question: string, texts: Cited[], topShare: number) {
    const documents = texts.map(({ number }) => this.#catalogue.documentOf(number));
    const reading = this.#reader.score(content, question, documents, topShare);
    if (reading === undefined || reading.sentenceCount === 0) return undefined;
    for (const [at, each] of texts.entries()) {
      const window = this.#reader.windowOf(at);
      if (window >= 0 && window < this.#numbers.citation.soft) each.status = "CITATION_MISMATCH";
      if (window >= 0 && window < this.#numbers.citation.hard) each.number = NOT_FOUND;
    }
    return reading;
  }

  #sourceFinding(cited: readonly Cited[], worst: Cited): Finding {
    const isHardMismatch = worst.status === "CITATION_MISMATCH" && worst.number === NOT_FOUND;
    const isMalformed = worst.status === "SOURCE_MALFORMED";
    const isHard = isMalformed || isHardMismatch || worst.status === "SOURCE_RECORDED_FALSE";
    return finding({
      code: worst.status,
      reason: SOURCE_REASONS[worst.status].replace("$", () => quote(worst.id)),
      isHard,
      isDoubtful: true,
      isHallucinated: isMalformed || isHardMismatch,
      sources: linesOf(cited),
    });
  }
}

/** Status of a source that nobody registered, by what its identifier says of itself. */
const UNREGISTERED: Readonly<Record<IdentifierStanding, Status>> = {
  valid: "SOURCE_UNKNOWN",
  doubtful: "SOURCE_DOUBTFUL",
  malformed: "SOURCE_MALFORMED",
};
const UNKNOWN: ReadonlySet<Status> = new Set(["SOURCE_UNKNOWN", "SOURCE_DOUBTFUL"]);

const idOf = ({ id }: Cited) => id;

const linesOf = (cited: readonly Cited[]) => cited.map(({ id, status }) => ({ id, status }));

/** Statuses that outweigh whatever the text says. */
function isGrave(status: Status): boolean {
  return STATUSES.indexOf(status) >= STATUSES.indexOf("CITATION_MISMATCH");
}

/** The gravest; of mismatches a hard one first. */
function worstOf(cited: readonly Cited[]): Cited {
  const rank = ({ status, number }: Cited) =>
    STATUSES.indexOf(status) + (status === "CITATION_MISMATCH" && number === NOT_FOUND ? 0.5 : 0);
  return cited.reduce((worst, each) => (rank(each) > rank(worst) ? each : worst));
}

const SOURCE_REASONS: Readonly<Record<Status, string>> = {
  SOURCE_VERIFIED: "The cited sources are registered and intact.",
  SOURCE_DOUBTFUL: "The cited source $ is not registered, and its identifier is unusual.",
  SOURCE_UNKNOWN: "The cited source $ is not registered as evidence.",
  SOURCE_REVOKED: "The cited source $ was revoked.",
  SOURCE_RETRACTED: "The cited source $ was retracted.",
  CITATION_MISMATCH: `The cited source $ does not speak of what it is cited for.`,
  SOURCE_RECORDED_FALSE: "The cited source $ is recorded as false.",
  SOURCE_MALFORMED: "The cited source $ cannot exist: its identifier is not valid.",
};

function allUnknown(cited: readonly Cited[], isVaultInUse: boolean): Finding {
  return unknownFinding(linesOf(cited), isVaultInUse);
}

function citationsChanged(cited: readonly Cited[], worst: Cited): Finding {
  return finding({
    code: "CITATIONS_CHANGED",
    reason: "The same content was sent before with other sources.",
    isHard: false,
    isDoubtful: true,
    isHallucinated: false,
    isVerified: worst.status === "SOURCE_VERIFIED",
    sources: linesOf(cited),
  });
}

/** R at or above tau_lo: a doubt, from tau_hi on an accusation, and never a hard failure. */
function unsupported(
  cited: readonly Cited[],
  worst: Cited,
  content: string,
  reading: GroundingReading,
  kind: KindNumbers,
): Finding {
  const { unsupportedKind, unsupportedStart, unsupportedEnd, worstNumber } = reading;
  const what = unsupportedKind === 1 ? "number" : "name";
  const missing = quote(content.slice(unsupportedStart, unsupportedEnd));
  const gap = unsupportedKind === 0 ? "" : `; the first ${what} missing there is ${missing}`;
  return finding({
    code: "UNSUPPORTED_CONTENT",
    reason: `Sentence ${worstNumber + 1} is not supported by the cited sources${gap}.`,
    isHard: false,
    isDoubtful: true,
    isHallucinated: reading.risk >= kind.tau_hi,
    isVerified: worst.status === "SOURCE_VERIFIED",
    penalty: 1 / (1 + Math.exp(-reading.risk / ONE)),
    sources: linesOf(cited),
  });
}

function verified(
  cited: readonly Cited[],
  content: string | undefined,
  isTooLarge: boolean,
  reading: GroundingReading | undefined,
): Finding {
  const sources = linesOf(cited);
  const base = { isHard: false, isDoubtful: false, isHallucinated: false, isVerified: true };
  const intact = SOURCE_REASONS.SOURCE_VERIFIED;
  if (content !== undefined && reading === undefined && isTooLarge) {
    const reason =
      "The cited sources are registered; the text was too long to be assessed in time.";
    return finding({ ...base, code: "PROVENANCE_NOT_ASSESSED", reason, sources });
  }
  if (reading === undefined) {
    const reason = `${intact} The text itself was not compared with them.`;
    return finding({ ...base, code: "GROUNDING_NOT_EVALUATED", reason, sources });
  }
  if (reading.mixedWords > 0) {
    const reason = `${intact} ${reading.mixedWords} words of the text mix scripts.`;
    return finding({ ...base, code: "MIXED_SCRIPTS", reason, isDoubtful: true, sources });
  }
  const reason = `${intact} No sentence stands out as unsupported, which does not prove it true.`;
  return finding({ ...base, code: "", reason, sources });
}

function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

// Assessment of one request's content and citations (provenance 4 and 5). Exact findings come
// first and may be hard failures; the grounding score can only raise doubt. Runs in the callback of
// the reply: no waiting, bounded work, one finding out.
import { hash } from "node:crypto";

import type { VerifyContext } from "../../contract/schemas/scores.ts";
import { Catalogue, NOT_FOUND } from "../sources/catalogue.ts";
import { tenantWord } from "../sources/catalogue-keys.ts";
import { CitationMemory } from "./citation-memory.ts";
import { FINDINGS, unknownFinding } from "./findings.ts";
import type { Finding } from "./findings.ts";
import { GroundingReader } from "../grounding/grounding.ts";
import { readNumbers } from "../grounding/tables.ts";
import { checkIdentifier } from "../sources/publication-ids.ts";
import type { Measured } from "../calibration/labels.ts";
import { BacklogIndexer } from "../grounding/backlog-indexer.ts";
import type { ReadRecord } from "../grounding/backlog-indexer.ts";
import { TaintedTexts } from "../grounding/minhash.ts";
import { EpochGuard } from "../sources/epochs.ts";
import {
  allUnknown,
  citationsChanged,
  sourceFinding,
  sourceNewer,
  unsupported,
  verified,
} from "./source-findings.ts";
import { isGrave, UNKNOWN, UNREGISTERED, selectWorstCitation } from "../sources/statuses.ts";
import type { Cited, Status } from "../sources/statuses.ts";
import { countsQuestion, classifyText } from "../calibration/text-kinds.ts";
import type { TextKind } from "../../contract/vocabulary.ts";
import { TextScorer } from "../grounding/text-scorer.ts";
import type { CitedText } from "../grounding/text-scorer.ts";
import { TenantThresholds } from "../calibration/thresholds.ts";
import type { VaultMemory } from "../memory.ts";

/**
 * Most work that is scored in place, in units of text times documents with text: 1 to 2 ms at the
 * 12 to 24 ns per unit that bench:grounding measures. Larger texts are reported as not assessed.
 */
export const INLINE_WORK_MAX = 65_536;
/** The same for a thread of a batch, where no other request waits. */
export const BATCH_WORK_MAX = 1_048_576;

/** Assessor of one thread; takes a grounding scratch of its own. */
export class VaultAssessor {
  readonly #catalogue: Catalogue;
  readonly #tainted: TaintedTexts;
  readonly #scorer: TextScorer;
  readonly #numbers = readNumbers();
  readonly #thresholds: TenantThresholds;
  readonly #clock: () => number;
  readonly #citations: CitationMemory;
  readonly #guard: EpochGuard;
  readonly #workMax: number;
  readonly #backlog: BacklogIndexer | undefined;

  /**
   * @param readRecord reads texts that are not indexed yet; without it other threads index them.
   */
  constructor(
    memory: VaultMemory,
    clock: () => number,
    workMax = INLINE_WORK_MAX,
    readRecord?: ReadRecord,
  ) {
    this.#catalogue = new Catalogue(memory.catalogue);
    this.#tainted = new TaintedTexts(memory.tainted);
    this.#scorer = new TextScorer(new GroundingReader(memory.grounding), this.#numbers.citation);
    this.#thresholds = new TenantThresholds(memory.thresholds);
    this.#citations = new CitationMemory(memory.citations);
    this.#guard = new EpochGuard(memory.epochs);
    this.#clock = clock;
    this.#workMax = workMax;
    this.#backlog = BacklogIndexer.open(memory, readRecord);
  }

  /** One finding for the content and the sources of a request, as visible to `tenant`. */
  assess(context: VerifyContext, tenant: string): Finding {
    const { content, content_hash, cited_sources } = context;
    if (content === undefined && content_hash === undefined && cited_sources === undefined) {
      return FINDINGS.notAssessed;
    }
    const own = content === undefined ? undefined : sha256Hex(content);
    if (own !== undefined && content_hash !== undefined && content_hash !== `sha256:${own}`) {
      return FINDINGS.hashMismatch;
    }
    const isEmpty = this.#catalogue.size === 0;
    if (isEmpty) {
      if (cited_sources === undefined || cited_sources.length === 0) return FINDINGS.noSources;
      const unknown = this.#ofEmptyVault(cited_sources);
      if (unknown !== undefined) return unknown;
    }
    this.#guard.enter();
    try {
      return this.#assessPinned(context, tenant, own ?? content_hash?.slice(7));
    } finally {
      this.#guard.leave();
    }
  }

  /** Risk and kind of a text, for labels; undefined when there is nothing to compare. */
  measure(context: VerifyContext, tenant: string): Measured | undefined {
    const { cited_sources = [] } = context;
    this.#guard.enter();
    try {
      const cited = cited_sources.map((id) => this.#cite(id, tenant));
      const scored = this.#score(context, cited, this.#textsOf(cited));
      return scored && { kind: scored.kind, risk: scored.reading.risk };
    } finally {
      this.#guard.leave();
    }
  }

  /**
   * Fast path while nothing is registered: sources with valid names are unknown, and no other
   * finding is possible. Undefined when a name is not valid: the full path then decides.
   */
  #ofEmptyVault(ids: readonly string[]): Finding | undefined {
    const sources: { id: string; status: Status }[] = [];
    for (const id of ids) {
      if (checkIdentifier(id, this.#clock).validity !== "valid") return undefined;
      sources.push({ id, status: "SOURCE_UNKNOWN" });
    }
    return unknownFinding(sources);
  }

  #assessPinned(context: VerifyContext, tenant: string, digest: string | undefined): Finding {
    const { content, cited_sources } = context;
    const tainted = this.#taintOf(digest, content, tenant);
    if (tainted?.hardFailureCode) return tainted;
    if (cited_sources === undefined || cited_sources.length === 0) {
      return tainted ?? FINDINGS.noSources;
    }
    const cited = cited_sources.map((id) => this.#cite(id, tenant));
    const assessed = this.#weigh(context, cited, tenant, digest);
    return assessed.hardFailureCode !== "" || tainted === undefined ? assessed : tainted;
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
      const { validity } = checkIdentifier(id, this.#clock);
      return { id, status: UNREGISTERED[validity], number, document: -1 };
    }
    // Before the state: a source that is revoked loses its state first, its text second.
    const document = this.#catalogue.documentOf(number);
    // A registered source exists, whatever its name looks like.
    const state = this.#catalogue.stateOf(number);
    if (state === "active") return { id, status: "SOURCE_VERIFIED", number, document };
    return { id, status: GONE[state], number: NOT_FOUND, document: -1 };
  }

  #textsOf(cited: readonly Cited[]): CitedText[] {
    const texts: CitedText[] = [];
    for (const each of cited) {
      if (each.document >= 0) texts.push({ cited: each, document: each.document });
    }
    return texts;
  }

  /** Scores a text against the documents it cites; undefined when there is nothing to compare. */
  #score(context: VerifyContext, cited: readonly Cited[], texts: readonly CitedText[]) {
    const { content, question } = context;
    if (content === undefined || texts.length === 0) return undefined;
    this.#backlog?.makeAll(texts);
    const isStructured = texts.some((text) => this.#catalogue.isStructured(text.cited.number));
    const given = classifyText(context, isStructured, false);
    const asked = countsQuestion(given) ? (question ?? "") : "";
    const { top_share } = this.#numbers.kinds[given];
    const reading = this.#scorer.score(content, asked, texts, cited.map(readCitedId), top_share);
    if (reading === undefined) return undefined;
    return { reading, kind: classifyText(context, isStructured, reading.sentenceCount === 1) };
  }

  #weigh(
    context: VerifyContext,
    cited: readonly Cited[],
    tenant: string,
    digest: string | undefined,
  ): Finding {
    const { content } = context;
    const numbers = cited.map(({ number }) => number);
    const texts = content === undefined ? [] : this.#textsOf(cited);
    const deferred = this.#backlog?.workFor(texts) ?? 0;
    const work = (content?.length ?? 0) * texts.length + deferred;
    const scored = work > this.#workMax ? undefined : this.#score(context, cited, texts);
    const worst = selectWorstCitation(cited);
    if (isGrave(worst.status)) return sourceFinding(cited, worst);
    const isUnknown = cited.every(({ status }) => UNKNOWN.has(status));
    if (isUnknown) return allUnknown(cited);
    const seen = this.#seenBefore(tenant, digest, cited);
    const newer = cited.find((_, at) => this.#isNewer(numbers[at]!, seen.since));
    const taus = scored && this.#tausOf(tenant, scored.kind);
    const doubted =
      scored !== undefined && scored.reading.risk >= taus!.tau_lo
        ? unsupported(cited, worst, content!, scored.reading, taus!)
        : undefined;
    // Evidence goes before the doubt that the same text was sent with other sources.
    if (doubted?.data.is_hallucinated) return doubted;
    if (seen.isChanged) return citationsChanged(cited, worst, newer);
    if (doubted !== undefined) return doubted;
    if (worst.status !== "SOURCE_VERIFIED") return sourceFinding(cited, worst);
    const finding = verified(cited, content, work > this.#workMax, scored?.reading);
    return newer !== undefined && UNDOUBTED.has(finding.reasonCode)
      ? sourceNewer(cited, newer)
      : finding;
  }

  /** The tenant's own thresholds where it has enough labels, else the shipped ones. */
  #tausOf(tenant: string, kind: TextKind) {
    return this.#thresholds.of(tenant, kind) ?? this.#numbers.kinds[kind];
  }

  #seenBefore(tenant: string, digest: string | undefined, cited: readonly Cited[]) {
    if (digest === undefined) return { isChanged: false, since: undefined };
    const now = Math.floor(this.#clock() / 1000);
    return this.#citations.note(tenant, digest, cited.map(readCitedId), now);
  }

  /** H6: whether this version of a source was registered after the content was first seen. */
  #isNewer(number: number, since: number | undefined): boolean {
    if (number === NOT_FOUND || since === undefined) return false;
    return this.#catalogue.registeredAt(number) > since;
  }
}

/** Status of a source by its state, where that is not active. */
const GONE = {
  revoked: "SOURCE_REVOKED",
  retracted: "SOURCE_RETRACTED",
  recorded_false: "SOURCE_RECORDED_FALSE",
} as const;

/** Findings that a remark may still follow. */
const UNDOUBTED: ReadonlySet<string> = new Set(["", "GROUNDING_NOT_EVALUATED"]);

const readCitedId = ({ id }: Cited) => id;

function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

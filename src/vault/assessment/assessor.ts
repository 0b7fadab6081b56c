// Assessment of one request's content and citations (provenance 4 and 5). Exact findings come
// first and may be hard failures; the grounding score can only raise doubt. Runs in the callback of
// the reply: no waiting, bounded work, one finding out.
import { hash } from "node:crypto";

import type { VerifyContext } from "../../contract/schemas/scores.ts";
import { Catalogue, NOT_FOUND } from "../sources/catalogue.ts";
import { encodeTenantWord } from "../sources/catalogue-keys.ts";
import { CitationCache } from "./citation-memory.ts";
import {
  appendUnseenText,
  buildUnregisteredFinding,
  CONSTANT_FINDINGS,
  selectNoSourcesFinding,
} from "./findings.ts";
import type { VaultFinding } from "./findings.ts";
import { GroundingReader } from "../grounding/grounding.ts";
import { readGroundingNumbers } from "../grounding/tables.ts";
import { checkSourceId } from "../sources/publication-ids.ts";
import type { TextMeasurement } from "../calibration/labels.ts";
import { BacklogIndexer } from "../grounding/backlog-indexer.ts";
import type { TextRecordReader } from "../grounding/backlog-indexer.ts";
import { TaintedTexts } from "../grounding/minhash.ts";
import { EpochGuard } from "../sources/epochs.ts";
import {
  buildAllUnregisteredFinding,
  buildCitationsChangedFinding,
  buildWorstSourceFinding,
  buildNewerSourceFinding,
  buildUnsupportedFinding,
  buildVerifiedFinding,
} from "./source-findings.ts";
import {
  isGraveStatus,
  UNREGISTERED_STATUSES,
  STATUS_BY_VALIDITY,
  selectWorstCitation,
} from "../sources/statuses.ts";
import type { CitedSource, CitedStatus } from "../sources/statuses.ts";
import { isQuestionCounted, classifyText } from "../calibration/text-kinds.ts";
import type { EvidenceState, TextKind } from "../../contract/vocabulary.ts";
import { TextScorer } from "../grounding/text-scorer.ts";
import type { CitedDocument } from "../grounding/text-scorer.ts";
import { TenantThresholds } from "../calibration/thresholds.ts";
import type { VaultMemory } from "../memory.ts";

/**
 * Most work that is scored in place, in units of text times documents with text: 1 to 2 ms at the
 * 12 to 24 ns per unit that npm run bench -- grounding measures. Larger texts are reported as not assessed.
 */
export const INLINE_WORK_UNITS_MAX = 65_536;
/** The same for a thread of a batch, where no other request waits. */
export const BATCH_WORK_UNITS_MAX = 1_048_576;

/** Assessor of one thread; takes a grounding scratch of its own. */
export class VaultAssessor {
  readonly #catalogue: Catalogue;
  readonly #tainted: TaintedTexts;
  readonly #scorer: TextScorer;
  readonly #numbers = readGroundingNumbers();
  readonly #thresholds: TenantThresholds;
  readonly #clock: () => number;
  readonly #citations: CitationCache;
  readonly #guard: EpochGuard;
  readonly #workMax: number;
  readonly #backlog: BacklogIndexer | undefined;

  /**
   * @param readRecord reads texts that are not indexed yet; without it other threads index them.
   */
  constructor(
    memory: VaultMemory,
    clock: () => number,
    workMax = INLINE_WORK_UNITS_MAX,
    readRecord?: TextRecordReader,
  ) {
    this.#catalogue = new Catalogue(memory.catalogue);
    this.#tainted = new TaintedTexts(memory.tainted);
    this.#scorer = new TextScorer(new GroundingReader(memory.grounding), this.#numbers.citation);
    this.#thresholds = new TenantThresholds(memory.thresholds);
    this.#citations = new CitationCache(memory.citations);
    this.#guard = new EpochGuard(memory.epochs);
    this.#clock = clock;
    this.#workMax = workMax;
    this.#backlog = BacklogIndexer.open(memory, readRecord);
  }

  /** One finding for the content and the sources of a request, as visible to `tenant`. */
  assess(context: VerifyContext, tenant: string): VaultFinding {
    const { content, content_hash, cited_sources } = context;
    if (content === undefined && content_hash === undefined && cited_sources === undefined) {
      return CONSTANT_FINDINGS.notAssessed;
    }
    const isHashAlone = content === undefined && content_hash !== undefined;
    const isEmpty = this.#catalogue.size === 0;
    if (isEmpty) {
      if (cited_sources === undefined || cited_sources.length === 0)
        return selectNoSourcesFinding(isHashAlone);
      const unknown = this.#assessWithEmptyVault(cited_sources, isHashAlone);
      if (unknown !== undefined) return unknown;
    }
    // Both together agree: the parser refuses a hash of another content.
    const digest = content === undefined ? content_hash?.slice(7) : sha256Hex(content);
    this.#guard.enter();
    try {
      return this.#assessUnderGuard(context, tenant, digest);
    } finally {
      this.#guard.leave();
    }
  }

  /** Risk and kind of a text, for labels; undefined when there is nothing to compare. */
  measure(context: VerifyContext, tenant: string): TextMeasurement | undefined {
    const { cited_sources = [] } = context;
    this.#guard.enter();
    try {
      const cited = cited_sources.map((id) => this.#resolveCitation(id, tenant));
      const scored = this.#scoreContent(context, cited, this.#listCitedDocuments(cited));
      return scored && { kind: scored.kind, risk: scored.reading.risk };
    } finally {
      this.#guard.leave();
    }
  }

  /**
   * Fast path while nothing is registered: sources with valid names are unknown, and no other
   * finding is possible. Undefined when a name is not valid: the full path then decides.
   */
  #assessWithEmptyVault(ids: readonly string[], isHashAlone: boolean): VaultFinding | undefined {
    const sources: { id: string; status: CitedStatus }[] = [];
    for (const id of ids) {
      if (checkSourceId(id, this.#clock).validity !== "valid") return undefined;
      sources.push({ id, status: "SOURCE_UNKNOWN" });
    }
    return buildUnregisteredFinding(sources, isHashAlone);
  }

  #assessUnderGuard(
    context: VerifyContext,
    tenant: string,
    digest: string | undefined,
  ): VaultFinding {
    const { content, cited_sources } = context;
    const state =
      digest === undefined ? undefined : this.#catalogue.findContentState(tenant, digest);
    const tainted = this.#findTaint(state, content, tenant);
    if (tainted?.hardFailureCode) return tainted;
    if (cited_sources === undefined || cited_sources.length === 0) {
      return tainted ?? selectNoSourcesFinding(content === undefined && digest !== undefined);
    }
    const cited = cited_sources.map((id) => this.#resolveCitation(id, tenant));
    const assessed = this.#assessCitations(context, cited, tenant, digest);
    if (content === undefined && digest !== undefined && !this.#isCitedItself(cited, digest)) {
      appendUnseenText(assessed);
    }
    return assessed.hardFailureCode !== "" || tainted === undefined ? assessed : tainted;
  }

  /** Whether the text with this digest is one of the cited sources. */
  #isCitedItself(cited: readonly CitedSource[], digest: string): boolean {
    return cited.some(({ number }) => number >= 0 && this.#catalogue.hasContent(number, digest));
  }

  #findTaint(state: EvidenceState | undefined, content: string | undefined, tenant: string) {
    if (state === "recorded_false") return CONSTANT_FINDINGS.contentFalse;
    if (state === "retracted") return CONSTANT_FINDINGS.contentRetracted;
    if (
      content !== undefined &&
      this.#catalogue.size > 0 &&
      this.#tainted.hasNearDuplicate(content, encodeTenantWord(tenant))
    ) {
      return CONSTANT_FINDINGS.contentNearFalse;
    }
    return undefined;
  }

  #resolveCitation(id: string, tenant: string): CitedSource {
    const number = this.#catalogue.find(tenant, id);
    if (number === NOT_FOUND) {
      const { validity } = checkSourceId(id, this.#clock);
      return { id, status: STATUS_BY_VALIDITY[validity], number, document: -1 };
    }
    // Before the state: a source that is revoked loses its state first, its text second.
    const document = this.#catalogue.readDocument(number);
    // A registered source exists, whatever its name looks like.
    const state = this.#catalogue.readState(number);
    if (state === "active") return { id, status: "SOURCE_VERIFIED", number, document };
    return { id, status: STATUS_BY_INACTIVE_STATE[state], number: NOT_FOUND, document: -1 };
  }

  #listCitedDocuments(cited: readonly CitedSource[]): CitedDocument[] {
    const texts: CitedDocument[] = [];
    for (const each of cited) {
      if (each.document >= 0) texts.push({ cited: each, document: each.document });
    }
    return texts;
  }

  /** Scores a text against the documents it cites; undefined when there is nothing to compare. */
  #scoreContent(
    context: VerifyContext,
    cited: readonly CitedSource[],
    texts: readonly CitedDocument[],
  ) {
    const { content, question } = context;
    if (content === undefined || texts.length === 0) return undefined;
    this.#backlog?.buildAllMissing(texts);
    const isStructured = texts.some((text) => this.#catalogue.isStructured(text.cited.number));
    const given = classifyText(context, isStructured, false);
    const asked = isQuestionCounted(given) ? (question ?? "") : "";
    const { top_share } = this.#numbers.kinds[given];
    const reading = this.#scorer.score(
      { content, question: asked, texts, ids: cited.map(selectCitedId) },
      top_share,
    );
    if (reading === undefined) return undefined;
    return { reading, kind: classifyText(context, isStructured, reading.sentenceCount === 1) };
  }

  #assessCitations(
    context: VerifyContext,
    cited: readonly CitedSource[],
    tenant: string,
    digest: string | undefined,
  ): VaultFinding {
    const { content } = context;
    const numbers = cited.map(({ number }) => number);
    const texts = content === undefined ? [] : this.#listCitedDocuments(cited);
    const deferred = this.#backlog?.countMissingUnits(texts) ?? 0;
    const work = (content?.length ?? 0) * texts.length + deferred;
    const scored = work > this.#workMax ? undefined : this.#scoreContent(context, cited, texts);
    const worst = selectWorstCitation(cited);
    if (isGraveStatus(worst.status)) return buildWorstSourceFinding(cited, worst);
    const isUnknown = cited.every(({ status }) => UNREGISTERED_STATUSES.has(status));
    if (isUnknown) return buildAllUnregisteredFinding(cited);
    const seen = this.#recordCitations(tenant, digest, cited);
    const newer = cited.find((_, at) => this.#isNewer(numbers[at]!, seen.since));
    const taus = scored && this.#selectThresholds(tenant, scored.kind);
    const doubted =
      scored !== undefined && scored.reading.risk >= taus!.tau_lo
        ? buildUnsupportedFinding(
            cited,
            worst,
            { content: content!, reading: scored.reading },
            taus!,
          )
        : undefined;
    // Evidence goes before the doubt that the same text was sent with other sources.
    if (doubted?.data.is_hallucinated) return doubted;
    if (seen.isChanged) return buildCitationsChangedFinding(cited, worst, newer);
    if (doubted !== undefined) return doubted;
    if (worst.status !== "SOURCE_VERIFIED") return buildWorstSourceFinding(cited, worst);
    const finding = buildVerifiedFinding(cited, content, work > this.#workMax, scored?.reading);
    return newer !== undefined && CODES_OPEN_TO_REMARKS.has(finding.reasonCode)
      ? buildNewerSourceFinding(cited, newer)
      : finding;
  }

  /** The tenant's own thresholds where it has enough labels, else the shipped ones. */
  #selectThresholds(tenant: string, kind: TextKind) {
    return this.#thresholds.findThresholds(tenant, kind) ?? this.#numbers.kinds[kind];
  }

  #recordCitations(tenant: string, digest: string | undefined, cited: readonly CitedSource[]) {
    if (digest === undefined) return { isChanged: false, since: undefined };
    const now = Math.floor(this.#clock() / 1000);
    return this.#citations.recordCitation(tenant, digest, cited.map(selectCitedId), now);
  }

  /** H6: whether this version of a source was registered after the content was first seen. */
  #isNewer(number: number, since: number | undefined): boolean {
    if (number === NOT_FOUND || since === undefined) return false;
    return this.#catalogue.readRegisteredAtSec(number) > since;
  }
}

/** Status of a source by its state, where that is not active. */
const STATUS_BY_INACTIVE_STATE = {
  revoked: "SOURCE_REVOKED",
  retracted: "SOURCE_RETRACTED",
  recorded_false: "SOURCE_RECORDED_FALSE",
} as const;

/** Findings that a remark may still follow. */
const CODES_OPEN_TO_REMARKS: ReadonlySet<string> = new Set(["", "GROUNDING_NOT_EVALUATED"]);

const selectCitedId = ({ id }: CitedSource) => id;

function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

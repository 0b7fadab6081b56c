// Scores one text against the documents it cites: the whole text for support, and each citation for
// whether its document covers it at all. A sentence with a marker (`[2]`) is compared with the
// documents it names; a document that no marker names is compared with the best sentence of the
// text.
import { ONE, ROW_END, ROW_NUMBER, ROW_START } from "../../../assembly/grounding/layout.ts";
import { NOT_FOUND } from "../sources/catalogue.ts";
import { GroundingReader } from "./grounding.ts";
import type { GroundingScore } from "./grounding.ts";
import { findCitationMarkers, mapSentencesToSources, blankMarkers } from "./citation-markers.ts";
import type { CitationMarker, SentenceSpan } from "./citation-markers.ts";
import type { CitedSource } from "../sources/statuses.ts";

/** A cited source with its index. */
export interface CitedDocument {
  readonly cited: CitedSource;
  readonly document: number;
}

export interface CitationThresholds {
  /** Best window below which a citation is doubted, and below which it is false; 1/1024. */
  readonly soft: number;
  readonly hard: number;
}

/** A text, what it was asked, and the documents it cites. */
export interface CitingText {
  readonly content: string;
  readonly question: string;
  readonly texts: readonly CitedDocument[];
  /** Ids of all cited sources in the order of the request. */
  readonly ids: readonly string[];
}

export class TextScorer {
  readonly #reader: GroundingReader;
  readonly #limits: CitationThresholds;

  constructor(reader: GroundingReader, limits: CitationThresholds) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /**
   * Scores the content and marks citations whose document does not cover it.
   * @returns undefined when the text holds nothing to check.
   */
  score(citing: CitingText, topShare: number): GroundingScore | undefined {
    const { content, question, texts, ids } = citing;
    const markers = findCitationMarkers(content, ids);
    const blanked = markers.length === 0 ? content : blankMarkers(content, markers);
    const documents = texts.map(({ document }) => document);
    const scored = this.#reader.score(blanked, question, documents, topShare);
    if (scored === undefined || scored.sentenceCount === 0) return undefined;
    if (markers.length === 0) {
      for (const [at, { cited }] of texts.entries())
        this.#markMismatch(cited, this.#reader.readBestWindow(at));
      return scored;
    }
    // The passes over single sentences reuse the reader's result.
    const reading = { ...scored };
    const windows = texts.map((_, at) => this.#reader.readBestWindow(at));
    const byMarker = this.#scoreMarkedSentences({ ...citing, content: blanked }, markers, scored);
    for (const [at, { cited }] of texts.entries()) {
      this.#markMismatch(cited, byMarker.get(cited) ?? windows[at]!);
    }
    return reading;
  }

  #markMismatch(cited: CitedSource, window: number): void {
    if (window < 0 || window >= this.#limits.soft) return;
    cited.status = "CITATION_MISMATCH";
    if (window < this.#limits.hard) cited.number = NOT_FOUND;
  }

  /** Best window of every document among the sentences that cite it by a marker. */
  #scoreMarkedSentences(
    { content: blanked, question, texts, ids }: CitingText,
    markers: readonly CitationMarker[],
    scored: GroundingScore,
  ): Map<CitedSource, number> {
    const sentences = this.#listSentences(scored);
    const best = new Map<CitedSource, number>();
    for (const [at, sources] of mapSentencesToSources(blanked, sentences, markers)) {
      const named = texts.filter(({ cited }) => sources.has(ids.indexOf(cited.id)));
      if (named.length === 0) continue;
      const { start, end, number } = sentences[at]!;
      const documents = named.map(({ document }) => document);
      this.#reader.score(blanked.slice(start, end), question, documents, ONE);
      const windows = named.map((_, place) => this.#reader.readBestWindow(place));
      const top = Math.max(...windows);
      for (const [place, { cited }] of named.entries()) {
        best.set(cited, Math.max(best.get(cited) ?? -1, windows[place]!));
        // One sentence among many is only a doubt: many comparisons, many chances of error.
        if (top < 0 || top >= this.#limits.hard || cited.sentence !== undefined) continue;
        cited.status = "CITATION_MISMATCH";
        cited.sentence = number;
      }
    }
    return best;
  }

  #listSentences(scored: GroundingScore): (SentenceSpan & { number: number })[] {
    return Array.from({ length: GroundingReader.countSentenceRows(scored) }, (_, at) => {
      const row = this.#reader.viewSentenceRow(at);
      return { start: row[ROW_START]!, end: row[ROW_END]!, number: row[ROW_NUMBER]! };
    });
  }
}

// Labelled texts of a tenant: score, kind and label of each, from which split conformal makes
// thresholds of the tenant's own. Stored in the journal beside the sources, without the text.
import { createHash } from "node:crypto";

import type {
  KindThreshold,
  LabelledItem,
  TextLabel,
  ThresholdList,
} from "../../contract/schemas/sources.ts";
import { countCleanTextsNeeded, computeConformalThreshold } from "./conformal.ts";
import { ONE } from "../../../assembly/grounding/layout.ts";
import type { GroundingNumbers } from "../grounding/tables.ts";
import { TEXT_KINDS } from "../../contract/vocabulary.ts";
import type { TextKind } from "../../contract/vocabulary.ts";
import type { TenantThresholds } from "./thresholds.ts";

/** Rate of supported texts that may draw a doubt. */
const ALPHA_DOUBT = 0.05;
/** Rates that may be called hallucinated; the finest that the labels allow applies. */
const ALPHAS_HALLUCINATED = [0.001, 0.003, 0.01] as const;
/** Both thresholds are replaced together, so the finer of the coarsest pair decides. */
export const LABELS_MIN = countCleanTextsNeeded(0.01);
/** Labels of one tenant and kind that count: the newest. */
export const LABELS_MAX = 10_000;

/** Score of a labelled text; undefined when there was nothing to compare. */
export interface TextMeasurement {
  readonly kind: TextKind;
  /** In 1/1024. */
  readonly risk: number;
}

/** One event of the journal: labels that a tenant gave at once. */
export interface LabelEvent {
  tenant: string;
  registrar: string;
  /** Epoch milliseconds. */
  at: number;
  model: string;
  labels: { digest: string; kind: TextKind; risk: number; supported: boolean }[];
}

interface LabelEntry {
  risk: number;
  supported: boolean;
}

/** The event of these labels; texts without a score are left out. */
export function buildLabelEvent(
  items: readonly TextLabel[],
  measured: readonly (TextMeasurement | undefined)[],
  by: { tenant: string; registrar: string; at: number; model: string },
): LabelEvent {
  const labels = items.flatMap((item, index) => {
    const found = measured[index];
    if (found === undefined) return [];
    const { kind, risk } = found;
    return [{ digest: digestLabel(item), kind, risk, supported: item.label === "supported" }];
  });
  return { ...by, labels };
}

/** Digest of a text and its citations: of two labels of the same text the later one counts. */
function digestLabel({ content, cited_sources, question }: TextLabel): string {
  const parts = JSON.stringify([content, question ?? "", cited_sources.toSorted()]);
  return createHash("sha256").update(parts).digest("hex").slice(0, 24);
}

const RISK_FORMAT = new Intl.NumberFormat("en", { maximumFractionDigits: 3, useGrouping: false });
const convertRiskToUnits = (value: number) => Number(RISK_FORMAT.format(value / ONE));

/** The items of an answer. */
export function buildLabelledItems(
  measured: readonly (TextMeasurement | undefined)[],
): LabelledItem[] {
  return measured.map((found) =>
    found === undefined
      ? { counted: false }
      : { counted: true, kind: found.kind, risk: convertRiskToUnits(found.risk) },
  );
}

export class LabelBook {
  readonly #numbers: GroundingNumbers;
  readonly #thresholds: TenantThresholds;
  /** Name of the numbers behind the scores. */
  readonly model: string;
  readonly #tenants = new Map<string, Map<TextKind, Map<string, LabelEntry>>>();

  constructor(numbers: GroundingNumbers, model: string, thresholds: TenantThresholds) {
    this.#numbers = numbers;
    this.model = model;
    this.#thresholds = thresholds;
  }

  /** Applies an event; ignores labels of another model, whose scores do not compare. */
  apply({ tenant, model, labels }: LabelEvent): void {
    if (model !== this.model) return;
    for (const { digest, kind, risk, supported } of labels) {
      const kept = this.#openEntries(tenant, kind);
      kept.delete(digest);
      kept.set(digest, { risk, supported });
      if (kept.size > LABELS_MAX) kept.delete(kept.keys().next().value!);
    }
    for (const kind of new Set(labels.map((label) => label.kind))) this.#calibrate(tenant, kind);
  }

  /** Thresholds of each kind for this tenant. */
  list(tenant: string): ThresholdList {
    return {
      model: this.model,
      thresholds: TEXT_KINDS.map((kind) => this.#describeThreshold(tenant, kind)),
    };
  }

  #openEntries(tenant: string, kind: TextKind): Map<string, LabelEntry> {
    let kinds = this.#tenants.get(tenant);
    if (kinds === undefined) this.#tenants.set(tenant, (kinds = new Map()));
    let kept = kinds.get(kind);
    if (kept === undefined) kinds.set(kind, (kept = new Map()));
    return kept;
  }

  #listCleanRisks(tenant: string, kind: TextKind): number[] {
    const kept = this.#tenants.get(tenant)?.get(kind) ?? new Map<string, LabelEntry>();
    return [...kept.values()].filter(({ supported }) => supported).map(({ risk }) => risk);
  }

  #calibrate(tenant: string, kind: TextKind): void {
    const found = computeLabelThresholds(this.#listCleanRisks(tenant, kind));
    const taus = found && { tau_lo: found.doubt.at, tau_hi: found.hallucinated.at };
    this.#thresholds.writeThresholds(tenant, kind, taus);
  }

  #describeThreshold(tenant: string, kind: TextKind): KindThreshold {
    const total = this.#tenants.get(tenant)?.get(kind)?.size ?? 0;
    const clean = this.#listCleanRisks(tenant, kind);
    const own = this.#thresholds.findThresholds(tenant, kind);
    const found = own && computeLabelThresholds(clean);
    const shipped = this.#numbers.kinds[kind];
    return {
      kind,
      doubt_at: convertRiskToUnits((own ?? shipped).tau_lo),
      hallucinated_at: convertRiskToUnits((own ?? shipped).tau_hi),
      from: own === undefined ? "shipped" : "tenant",
      alpha_doubt: (found === undefined ? shipped.alpha_lo : found.doubt.alpha) || null,
      alpha_hallucinated:
        (found === undefined ? shipped.alpha_hi : found.hallucinated.alpha) || null,
      supported: clean.length,
      unsupported: total - clean.length,
      needed: LABELS_MIN,
    };
  }
}

/** Both thresholds, or none while there are too few. */
function computeLabelThresholds(clean: readonly number[]) {
  if (clean.length < LABELS_MIN) return undefined;
  const doubt = computeConformalThreshold(clean, ALPHA_DOUBT)!;
  for (const alpha of ALPHAS_HALLUCINATED) {
    const hallucinated = computeConformalThreshold(clean, alpha);
    if (hallucinated !== undefined) return { doubt, hallucinated };
  }
  return undefined;
}

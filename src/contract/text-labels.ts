// Labelled texts on the wire: what a tenant's people found of answers that its agents wrote, and
// the thresholds that follow. The bureau keeps a score and a label of each, never the text.
import {
  broken,
  enumFault,
  type FieldErrors,
  isObject,
  note,
  plainTextFault,
  typeFault,
  batchItems,
  unknownMembers,
} from "./parse/field-rules.ts";
import { CITED_SOURCES_MAX, CONTENT_TYPE_LENGTH_MAX, SOURCE_ID_LENGTH_MAX } from "./limits.ts";

export const TEXT_LABELS = ["supported", "unsupported"] as const;

/** One item of `POST /v1/vault/labels`: a context as verify takes it, and what a person found. */
export interface TextLabel {
  content: string;
  cited_sources: string[];
  question?: string;
  content_type?: string;
  label: (typeof TEXT_LABELS)[number];
}

export interface LabelledItem {
  /** False when no cited source has a text, or the content says nothing to check. */
  counted: boolean;
  kind?: string;
  /** The score that was kept, in the unit of the thresholds. */
  risk?: number;
}

/** How texts of one kind are judged for this tenant. */
export interface KindThreshold {
  kind: string;
  /** From here on the text is doubted; from there on it is called hallucinated. */
  doubt_at: number;
  hallucinated_at: number;
  from: "shipped" | "tenant";
  /** Bounds on the share of supported texts that each threshold flags; null for a default. */
  alpha_doubt: number | null;
  alpha_hallucinated: number | null;
  supported: number;
  unsupported: number;
  /** Supported texts of one's own that replace the shipped thresholds. */
  needed: number;
}

export interface ThresholdList {
  /** What scores belong to: labels of another model no longer count. */
  model: string;
  thresholds: KindThreshold[];
}

export interface LabelResult extends ThresholdList {
  items: LabelledItem[];
}

const MEMBERS = ["content", "cited_sources", "question", "content_type", "label"];

/** Body of `POST /v1/vault/labels`: `{items: [...]}`. All or nothing. Throws ServiceFault. */
export function parseTextLabels(value: unknown): TextLabel[] {
  const items = batchItems(value, itemFaults);
  return (items as TextLabel[]).map(labelOf);
}

function itemFaults(found: FieldErrors, item: unknown, at: string): FieldErrors {
  if (!isObject(item)) return note(found, broken(at, "type", "must be an object"));
  const { content, cited_sources, question, content_type, label } = item;
  let errors = found;
  for (const fault of unknownMembers(item, MEMBERS, at) ?? []) errors = note(errors, fault);
  errors = note(errors, typeFault(`${at}/content`, content, "string"));
  errors = sourcesFaults(errors, cited_sources, `${at}/cited_sources`);
  if (question !== undefined) {
    errors = note(errors, typeFault(`${at}/question`, question, "string"));
  }
  if (content_type !== undefined) {
    const fault = plainTextFault(`${at}/content_type`, content_type, CONTENT_TYPE_LENGTH_MAX);
    errors = note(errors, fault);
  }
  return note(errors, enumFault(`${at}/label`, label, TEXT_LABELS));
}

function sourcesFaults(found: FieldErrors, sources: unknown, at: string): FieldErrors {
  if (!Array.isArray(sources)) return note(found, broken(at, "type", "must be an array"));
  if (sources.length === 0 || sources.length > CITED_SOURCES_MAX) {
    return note(found, broken(at, "length", `must hold 1 to ${CITED_SOURCES_MAX} sources`));
  }
  let errors = found;
  for (const [index, source] of sources.entries()) {
    errors = note(errors, plainTextFault(`${at}/${index}`, source, SOURCE_ID_LENGTH_MAX));
  }
  return errors;
}

function labelOf({ content, cited_sources, question, content_type, label }: TextLabel): TextLabel {
  const item: TextLabel = { content, cited_sources, label };
  if (question !== undefined) item.question = question;
  if (content_type !== undefined) item.content_type = content_type;
  return item;
}

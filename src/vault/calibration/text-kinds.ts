// Kinds of text, each with thresholds of its own: the score of an honest answer against its
// evidence differs far more between kinds than any one threshold allows for.
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import type { TextKind } from "../../contract/vocabulary.ts";

/** Whether words of the question count as known: a turn of a conversation is no question. */
export function isQuestionCounted(kind: TextKind): boolean {
  return kind !== "dialogue";
}

/** A parameter of the media type names the kind: `text/plain; kind=dialogue`. */
const NAMED_KIND = /;\s*kind=(qa|summary|data|claim|dialogue)\b/;

/** The kind of a text: as its media type names it, else inferred from its sources and question. */
export function classifyText(
  { content_type, question }: Pick<VerifyContext, "content_type" | "question">,
  isStructured: boolean,
  isOneSentence: boolean,
): TextKind {
  const named = content_type === undefined ? undefined : NAMED_KIND.exec(content_type)?.[1];
  if (named !== undefined) return named as TextKind;
  if (isStructured) return "data";
  if (question !== undefined && question !== "") return "qa";
  return isOneSentence ? "claim" : "summary";
}

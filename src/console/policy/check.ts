// Check of a draft by the service: the version that it makes, or what is wrong with it and where. Asked
// a moment after the last letter.
import { ApiError, buildPathWithQuery, sendDocument } from "../api.ts";
import { useEffect, useState } from "../html.ts";
import { type PolicyDocument, parsePolicyText } from "./draft.ts";

const TYPING_PAUSE_MS = 250;

export interface DraftProblem {
  readonly pointer: string;
  readonly detail: string;
}

export interface DraftCheck {
  readonly isAsking: boolean;
  /** The policy that the draft makes, whole. */
  readonly made?: PolicyDocument;
  readonly wrong: readonly DraftProblem[];
  /** It could not be asked. */
  readonly error?: Error;
}

const PENDING_CHECK: DraftCheck = { isAsking: true, wrong: [] };

export function buildCheckPath(tenant: string): string {
  return buildPathWithQuery("/v1/policy", { tenant, dry_run: 1 });
}

/** @param text undefined while there is none yet. */
export function useDraftCheck(tenant: string, text: string | undefined): DraftCheck {
  const [check, setCheck] = useState<DraftCheck>(PENDING_CHECK);
  useEffect(() => {
    if (text === undefined) return undefined;
    const { value, fault } = parsePolicyText(text);
    if (value === undefined) {
      setCheck({ isAsking: false, wrong: [{ pointer: "", detail: fault ?? "" }] });
      return undefined;
    }
    const controller = new AbortController();
    const ask = async () => {
      try {
        const made = await sendDocument<PolicyDocument>(
          "PUT",
          buildCheckPath(tenant),
          value,
          controller.signal,
        );
        if (!controller.signal.aborted) setCheck({ isAsking: false, made, wrong: [] });
      } catch (error) {
        if (!controller.signal.aborted) setCheck(convertErrorToCheck(error as Error));
      }
    };
    setCheck((before) => ({ ...before, isAsking: true }));
    const timer = setTimeout(() => void ask(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [tenant, text]);
  return check;
}

function convertErrorToCheck(error: Error): DraftCheck {
  const isOfDraft = error instanceof ApiError && error.errors.length > 0;
  if (!isOfDraft) return { isAsking: false, wrong: [], error };
  return { isAsking: false, wrong: error.errors };
}

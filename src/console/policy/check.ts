// Check of a draft by the service: the version that it makes, or what is wrong with it and where. Asked
// a moment after the last letter.
import { ApiError, pathWith, send } from "../api.ts";
import { useEffect, useState } from "../html.ts";
import { type PolicyDocument, readText } from "./draft.ts";

const REST_MS = 250;

export interface Wrong {
  readonly pointer: string;
  readonly detail: string;
}

export interface Check {
  readonly isAsking: boolean;
  /** The policy that the draft makes, whole. */
  readonly made?: PolicyDocument;
  readonly wrong: readonly Wrong[];
  /** It could not be asked. */
  readonly error?: Error;
}

const ASKING: Check = { isAsking: true, wrong: [] };

export function checkPath(tenant: string): string {
  return pathWith("/v1/policy", { tenant, dry_run: 1 });
}

/** @param text undefined while there is none yet. */
export function useCheck(tenant: string, text: string | undefined): Check {
  const [check, setCheck] = useState<Check>(ASKING);
  useEffect(() => {
    if (text === undefined) return undefined;
    const { value, fault } = readText(text);
    if (value === undefined) {
      setCheck({ isAsking: false, wrong: [{ pointer: "", detail: fault ?? "" }] });
      return undefined;
    }
    const controller = new AbortController();
    const ask = async () => {
      try {
        const made = await send<PolicyDocument>("PUT", checkPath(tenant), value, controller.signal);
        if (!controller.signal.aborted) setCheck({ isAsking: false, made, wrong: [] });
      } catch (error) {
        if (!controller.signal.aborted) setCheck(convertErrorToCheck(error as Error));
      }
    };
    setCheck((before) => ({ ...before, isAsking: true }));
    const timer = setTimeout(() => void ask(), REST_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [tenant, text]);
  return check;
}

function convertErrorToCheck(error: Error): Check {
  const isOfDraft = error instanceof ApiError && error.errors.length > 0;
  if (!isOfDraft) return { isAsking: false, wrong: [], error };
  return { isAsking: false, wrong: error.errors };
}

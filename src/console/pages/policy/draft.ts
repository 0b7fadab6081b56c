// Draft of a policy: its JSON text, its differences from another policy, and the service's dry-run check.
import type { Policy } from "../../../contract/policy.ts";
import type { PolicyDocument } from "../../../contract/schemas/policy.ts";
import { ApiError, buildPathWithQuery, sendDocument } from "../../api.ts";
import { useEffect, useState } from "../../html.ts";

export const LEVELS = ["L0", "L1", "L2", "L3"] as const;
export type Level = (typeof LEVELS)[number];

/** As it is edited: indented. */
export function formatPolicyText(policy: unknown): string {
  return JSON.stringify(policy, null, 2);
}

export interface ParsedPolicyText {
  /** Undefined where the text is no JSON object. */
  readonly value?: Record<string, unknown>;
  readonly fault?: string;
}

export function parsePolicyText(text: string): ParsedPolicyText {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { value: value as Record<string, unknown> };
    }
    return { fault: "a policy is an object, such as {}" };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** The policy with one member of a level changed. */
export function replaceLevelMember(
  policy: Policy,
  level: Level,
  member: string,
  value: unknown,
): Policy {
  const levels = { ...policy.levels, [level]: { ...policy.levels[level], [member]: value } };
  return { ...policy, levels };
}

/** The policy with one member of its stakes changed; undefined leaves it out. */
export function replaceStakesMember(
  policy: Policy,
  member: keyof NonNullable<Policy["stakes"]>,
  value: number | undefined,
): Policy {
  const { stakes = {}, ...rest } = policy;
  const { [member]: _, ...others } = stakes;
  const next = value === undefined ? others : { ...others, [member]: value };
  return Object.keys(next).length === 0 ? rest : { ...rest, stakes: next };
}

export interface PolicyDifference {
  /** Members from the outside in. */
  readonly path: string;
  /** As JSON; undefined where the one side lacks it. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Members in which two policies differ. */
export function listPolicyDifferences(before: unknown, after: unknown): PolicyDifference[] {
  const one = collectPolicyLeaves(before);
  const other = collectPolicyLeaves(after);
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((path) => one.get(path) !== other.get(path))
    .map((path) => ({ path, before: one.get(path), after: other.get(path) }));
}

function collectPolicyLeaves(value: unknown, path = "", found = new Map<string, string>()) {
  if (typeof value !== "object" || value === null) {
    found.set(path, JSON.stringify(value) ?? "");
    return found;
  }
  for (const [name, each] of Object.entries(value)) {
    collectPolicyLeaves(each, path === "" ? name : `${path} ${name}`, found);
  }
  return found;
}

/** Offset in the text of the member that a JSON pointer means, or of the last part that is there. */
export function findPointerOffset(text: string, pointer: string): number {
  let offset = 0;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const at = /^\d+$/.test(name)
      ? findEntryOffset(text, offset, Number(name))
      : text.indexOf(JSON.stringify(name), offset);
    if (at < 0) return offset;
    offset = at;
  }
  return offset;
}

/** Offset of an entry of the list of objects that begins behind `from`. */
function findEntryOffset(text: string, from: number, index: number): number {
  let at = text.indexOf("[", from);
  for (let n = 0; n <= index && at >= 0; n += 1) at = text.indexOf("{", at + 1);
  return at;
}

export function computeLineNumber(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

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

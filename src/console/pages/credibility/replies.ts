// Types of the credibility routes' replies, and links within the credibility page.
import type { CredibilityGraph, CredibilityStatus } from "../../../contract/schemas/kaizen.ts";
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import { linkTo, parsePlace } from "../../location.ts";

export type CredibilityStatusReply = MessageOf<typeof CredibilityStatus>;
export type VouchingGraphReply = MessageOf<typeof CredibilityGraph>;
export type VouchingNode = VouchingGraphReply["nodes"][number];
type VouchingNodeKind = VouchingNode["kind"];

export const VOUCHING_NODE_KINDS: readonly VouchingNodeKind[] = ["seed", "believed", "stranger"];

export const VOUCHING_NODE_TONES: Readonly<Record<VouchingNodeKind, string>> = {
  seed: "allow",
  believed: "",
  stranger: "warn",
};

/** A link to the page as it is, with `change`. */
export function linkWithChange(change: Readonly<Record<string, string>>): string {
  return linkTo("credibility", { ...parsePlace(location.hash).parameters, ...change });
}

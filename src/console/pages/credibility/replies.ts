// Types of the credibility routes' replies, and links within the credibility page.
import { linkTo, parsePlace } from "../../location.ts";

export type VouchingNodeKind = "seed" | "believed" | "stranger";

export interface VouchingNode {
  readonly id: string;
  readonly kind: VouchingNodeKind;
  readonly credibility: number;
  readonly mass: number;
  readonly cluster: number;
  readonly reports: number;
}

export interface VouchingEdge {
  readonly from: number;
  readonly to: number;
  readonly mass: number;
  readonly weight: number;
}

export interface VouchingGraphReply {
  readonly at?: string;
  readonly position?: number;
  readonly reporters: number;
  readonly nodes: readonly VouchingNode[];
  readonly edges: readonly VouchingEdge[];
}

export interface CredibilityStatusReply {
  readonly is_wanted: boolean;
  readonly has_seeds: boolean;
  readonly in_force: boolean;
  readonly is_running: boolean;
  readonly last?: {
    readonly at: string;
    readonly reason: string;
    readonly duration_ms: number;
    readonly figures?: {
      readonly reporters: number;
      readonly seeds: number;
      readonly believed: number;
      readonly believed_share: number;
      readonly clusters: number;
      readonly discounted: number;
    };
  };
}

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

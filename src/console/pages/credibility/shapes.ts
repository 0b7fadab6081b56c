// Answers of credibility's routes, as far as its page reads them, and links within the page.
import { linkTo, parsePlace } from "../../location.ts";

export type Kind = "seed" | "believed" | "stranger";

export interface Reporter {
  readonly id: string;
  readonly kind: Kind;
  readonly credibility: number;
  readonly mass: number;
  readonly cluster: number;
  readonly reports: number;
}

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly mass: number;
  readonly weight: number;
}

export interface Graph {
  readonly at?: string;
  readonly position?: number;
  readonly reporters: number;
  readonly nodes: readonly Reporter[];
  readonly edges: readonly Edge[];
}

export interface Status {
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

export const KINDS: readonly Kind[] = ["seed", "believed", "stranger"];

export const TONES: Readonly<Record<Kind, string>> = {
  seed: "allow",
  believed: "",
  stranger: "warn",
};

/** A link to the page as it is, with `change`. */
export function here(change: Readonly<Record<string, string>>): string {
  return linkTo("credibility", { ...parsePlace(location.hash).parameters, ...change });
}

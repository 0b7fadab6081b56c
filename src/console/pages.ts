// The pages of the console by group, those that are used most first; the navigation keeps the order. Each
// is a module of its own, loaded when it is opened.
import type { VNode } from "./html.ts";

export interface PageEntry {
  /** In the address: `#/name`. */
  readonly name: string;
  readonly label: string;
  readonly group: PageGroup;
  /** Its key in the navigation: `g` and this letter. */
  readonly letter?: string;
  /** Not in the navigation: reached from others. */
  readonly isHidden?: boolean;
  /** Keys of its own, told by `?`. */
  readonly shortcuts?: readonly (readonly [key: string, what: string])[];
  readonly load: () => Promise<{ default: () => VNode }>;
}

export const PAGE_GROUPS = ["Now", "Trust", "Learning", "Operate"] as const;
type PageGroup = (typeof PAGE_GROUPS)[number];

export const PAGES: readonly PageEntry[] = [
  {
    name: "",
    label: "Overview",
    group: "Now",
    letter: "o",
    load: () => import("./pages/overview.ts"),
  },
  {
    name: "decisions",
    label: "Decisions",
    group: "Now",
    letter: "d",
    load: () => import("./pages/decisions.ts"),
  },
  {
    name: "decision",
    label: "Decision",
    group: "Now",
    isHidden: true,
    load: () => import("./pages/decision.ts"),
  },
  {
    name: "reviews",
    label: "Reviews",
    group: "Now",
    letter: "r",
    shortcuts: [
      ["j", "next review"],
      ["k", "review before"],
      ["a", "approve = overturned"],
      ["d", "deny = upheld"],
      ["c", "claim"],
      ["s", "skip"],
      ["n", "write a note; Esc leaves it"],
      ["x", "mark, to decide several at once"],
      ["u", "undo the last decision"],
    ],
    load: () => import("./pages/reviews.ts"),
  },
  {
    name: "agents",
    label: "Agents",
    group: "Trust",
    letter: "a",
    load: () => import("./pages/agents.ts"),
  },
  {
    name: "agent",
    label: "Agent",
    group: "Trust",
    isHidden: true,
    load: () => import("./pages/agent.ts"),
  },
  {
    name: "conditions",
    label: "Conditions",
    group: "Trust",
    letter: "i",
    load: () => import("./pages/conditions.ts"),
  },
  {
    name: "policy",
    label: "Policy",
    group: "Trust",
    letter: "p",
    load: () => import("./pages/policy.ts"),
  },
  {
    name: "evidence",
    label: "Evidence",
    group: "Trust",
    letter: "e",
    load: () => import("./pages/evidence.ts"),
  },
  {
    name: "kaizen",
    label: "Kaizen",
    group: "Learning",
    letter: "k",
    load: () => import("./pages/kaizen.ts"),
  },
  {
    name: "credibility",
    label: "Credibility",
    group: "Learning",
    letter: "c",
    load: () => import("./pages/credibility.ts"),
  },
  {
    name: "health",
    label: "Health",
    group: "Operate",
    letter: "h",
    load: () => import("./pages/health.ts"),
  },
  {
    name: "keys",
    label: "Keys",
    group: "Operate",
    letter: "y",
    load: () => import("./pages/keys.ts"),
  },
  {
    name: "usage",
    label: "Usage",
    group: "Operate",
    letter: "t",
    load: () => import("./pages/usage.ts"),
  },
  {
    name: "audit",
    label: "Audit",
    group: "Operate",
    letter: "u",
    load: () => import("./pages/audit.ts"),
  },
  {
    name: "sql",
    label: "SQL",
    group: "Operate",
    letter: "s",
    load: () => import("./pages/sql.ts"),
  },
];

// Seeds of credibility: rules as written in a setting, and the agents of a history that they name.
// Every name gets one equal share of the mass, however many agents it covers: a tenant does not
// gain weight by registering keys.
import type { SeedShares, ReportedEdges } from "./page-rank.ts";

/** Result of `parseSeedRules`. */
export interface SeedRules {
  agents: readonly string[];
  /** Prefixes, as `agent://acme/`. */
  namespaces: readonly string[];
  /** Reporters with a signing key, one share per tenant. */
  hasKeys: boolean;
  /** The best known agents of the first tenth of the history. */
  hasEarliest: boolean;
}

/** Agents and facts from which the rules choose. */
export interface SeedCandidates {
  /** Ids by number. */
  ids: readonly string[];
  edges: ReportedEdges;
  /** Agents with a signing key in force, and the tenant that registered it. */
  keyHolders: ReadonlyMap<string, string>;
}

const EARLIEST_COUNT = 20;
const EARLIEST_SHARE = 0.1;
const SEED_AGENT_PATTERN = /^agent:\/\/[^/\s,*]+\/[^\s,*]+$/;
const SEED_NAMESPACE_PATTERN = /^agent:\/\/[^/\s,*]+\/\*$/;

/**
 * Parses a comma-separated list: `agent://acme/buyer`, `agent://acme/*`, `keys` (every reporter
 * with a signing key), or `earliest` (the best known of the first tenth: for a history whose
 * beginning can be trusted).
 * @throws RangeError when a part is none of these; the message names it.
 */
export function parseSeedRules(text: string): SeedRules {
  const parts = text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
  for (const part of parts) {
    const isKnown = part === "keys" || part === "earliest";
    if (!isKnown && !SEED_AGENT_PATTERN.test(part) && !SEED_NAMESPACE_PATTERN.test(part)) {
      throw new RangeError(`\`${part}\` is not an agent, agent://NAMESPACE/*, keys or earliest`);
    }
  }
  return {
    agents: parts.filter((part) => SEED_AGENT_PATTERN.test(part)),
    namespaces: parts
      .filter((part) => SEED_NAMESPACE_PATTERN.test(part))
      .map((part) => part.slice(0, -1)),
    hasKeys: parts.includes("keys"),
    hasEarliest: parts.includes("earliest"),
  };
}

/** Best known by distinct agents that reported a success. */
function listBestKnownEarlyAgents({
  agents,
  reporters,
  subjects,
  failures,
  count,
}: ReportedEdges): number[] {
  const pairs = new Set<number>();
  const known = new Uint32Array(agents);
  for (let i = 0; i < count * EARLIEST_SHARE; i++) {
    const pair = reporters[i]! * agents + subjects[i]!;
    if (failures[i] === 1 || pairs.has(pair)) continue;
    pairs.add(pair);
    known[subjects[i]!]! += 1;
  }
  return [...known.keys()]
    .filter((agent) => known[agent]! > 0)
    .toSorted((a, b) => known[b]! - known[a]! || a - b)
    .slice(0, EARLIEST_COUNT);
}

/** The seeds of a history; empty when the rules match no agent in it. */
export function selectSeeds(rules: SeedRules, candidates: SeedCandidates): SeedShares {
  const groups = new Map<string, number[]>();
  const add = (group: string, agent: number) => {
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [agent]);
    else members.push(agent);
  };
  const named = new Set(rules.agents);
  const isReporter = new Uint8Array(candidates.ids.length);
  const { edges } = candidates;
  for (let i = 0; i < edges.count; i++) isReporter[edges.reporters[i]!] = 1;
  candidates.ids.forEach((id, agent) => {
    if (named.has(id)) add(id, agent);
    if (isReporter[agent] === 0) return;
    for (const prefix of rules.namespaces) if (id.startsWith(prefix)) add(prefix, agent);
    const tenant = rules.hasKeys ? candidates.keyHolders.get(id) : undefined;
    if (tenant !== undefined) add(`keys of ${tenant}`, agent);
  });
  if (rules.hasEarliest)
    for (const agent of listBestKnownEarlyAgents(edges)) add(`earliest ${agent}`, agent);
  const shares = new Map<number, number>();
  for (const agents of groups.values()) {
    const share = 1 / groups.size / agents.length;
    for (const agent of agents) shares.set(agent, (shares.get(agent) ?? 0) + share);
  }
  return shares;
}

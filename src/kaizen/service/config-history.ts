// Configs that have been live, as people look at them: where each came from, whether it is in force, and
// how it differs from another. Contents come from their files, which their names are digests of.
import type { ScoringConfig } from "../../engine/config.ts";
import { computeConfigDigest } from "../../engine/config.ts";
import type { ConfigDetail, ConfigHistory, ConfigDifference, ConfigSummary } from "../kaizen.ts";
import type { Champion } from "./champion.ts";
import type { ConfigPeriod } from "../replay/daily-replay.ts";
import type { Promotion } from "./files.ts";

/** Configs listed: the newest. */
const CONFIGS_LISTED = 100;

export class ChampionConfigHistory implements ConfigHistory {
  readonly #champion: Champion;

  constructor(champion: Champion) {
    this.#champion = champion;
  }

  periods(): ConfigPeriod[] {
    const { promotions, champion } = this.#champion.state;
    const changes = promotions.flatMap(({ at_ms, version, parent, rolled_back: back }) => [
      { atMs: at_ms, version },
      ...(back === undefined ? [] : [{ atMs: back.at_ms, version: back.left ?? parent }]),
    ]);
    const start = { atMs: Number.NEGATIVE_INFINITY, version: promotions[0]?.parent ?? champion };
    const found = [start, ...changes.toSorted((left, right) => left.atMs - right.atMs)].flatMap(
      ({ atMs, version }) => {
        const config = this.#champion.readable(version);
        return config === undefined ? [] : [{ fromMs: atMs, config }];
      },
    );
    // Files of old configs may be gone: then the live one stands for all time.
    return found.length > 0 ? found : [{ fromMs: start.atMs, config: this.#champion.config() }];
  }

  list(): ConfigSummary[] {
    const { promotions, champion: live, shipped = live } = this.#champion.state;
    const versions = [live, shipped];
    for (const { version, parent, rolled_back: back } of promotions.toReversed()) {
      versions.push(version, back?.left ?? parent, parent);
    }
    return [...new Set(versions)]
      .slice(0, CONFIGS_LISTED)
      .map((version) => summarizeConfig(this.#champion, version));
  }

  find(named: string, other?: string): ConfigDetail | undefined {
    const champion = this.#champion;
    const version = named === "active" ? champion.version : named;
    const config = champion.readable(version);
    if (config === undefined) return undefined;
    const summary = summarizeConfig(champion, version);
    if (other === undefined) return { ...summary, config, against: null, differences: [] };
    const against = other === "active" ? champion.version : other;
    const from = champion.readable(against);
    if (from === undefined) return undefined;
    return { ...summary, config, against, differences: listConfigDifferences(from, config) };
  }
}

function summarizeConfig(champion: Champion, version: string): ConfigSummary {
  const { champion: live, shipped, promotions } = champion.state;
  const promotion = promotions.findLast((each) => each.version === version);
  const config = champion.readable(version);
  const digest = config === undefined ? null : computeConfigDigest(config).toString("hex");
  return {
    version,
    name: config?.name ?? null,
    digest: digest === null ? null : `sha256:${digest}`,
    in_force: version === live,
    shipped: version === shipped,
    on_file: config !== undefined,
    ...describeConfigOrigin(promotion),
  };
}

function describeConfigOrigin(promotion: Promotion | undefined) {
  const back = promotion?.rolled_back;
  return {
    from_run: promotion?.run_id ?? null,
    kind: promotion === undefined ? null : (promotion.kind ?? "full"),
    parent: promotion?.parent ?? null,
    promoted_at: promotion === undefined ? null : formatConfigTime(promotion.at_ms),
    rolled_back:
      back === undefined ? null : { at: formatConfigTime(back.at_ms), reason: back.reason },
  };
}

const formatConfigTime = (epochMs: number) => new Date(epochMs).toISOString();

/** Members that differ, by pointer; null where one lacks it. */
export function listConfigDifferences(from: ScoringConfig, to: ScoringConfig): ConfigDifference[] {
  const [before, after] = [collectConfigLeaves(from), collectConfigLeaves(to)];
  const pointers = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return pointers.flatMap((pointer) => {
    const [old, now] = [before.get(pointer) ?? null, after.get(pointer) ?? null];
    return old === now ? [] : [{ pointer, from: old, to: now }];
  });
}

/** Leaves of a document by their pointers. */
function collectConfigLeaves(value: unknown, pointer = "", found = new Map<string, unknown>()) {
  if (typeof value !== "object" || value === null) found.set(pointer, value);
  else
    for (const [name, part] of Object.entries(value))
      collectConfigLeaves(part, `${pointer}/${name}`, found);
  return found;
}

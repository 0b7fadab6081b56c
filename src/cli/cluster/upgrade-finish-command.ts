// `trustrank cluster upgrade finish`: raises the rules of the cluster's log once every node knows them.
import { buildRulesMessage, MESSAGE_RULES_VERSION } from "../../ledger/ordered/message.ts";
import { CommandFailure } from "../../service/failure.ts";
import { type ClusterView, findNodesBelowRules, readClusterView } from "../../stream/reports.ts";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { print, printJson } from "../output.ts";
import {
  type ClusterFlags,
  loadClusterSecret,
  requireClusterConfig,
  withOrderedLog,
} from "./ordered-log.ts";

const APPEND_MS = 30_000;

export interface FinishFlags extends ClusterFlags {
  /** Nodes that are gone for good, with commas between them. */
  readonly without?: string;
}

/** Exits with 1, and has changed nothing, where a node does not know the rules, or none has told of itself. */
export async function finishClusterUpgrade(dataDir: string, flags: FinishFlags): Promise<void> {
  const config = requireClusterConfig(flags);
  const secret = loadClusterSecret(resolveDataPaths(dataDir).bureauKey);
  const without = new Set(flags.without?.split(",").map((node) => node.trim()));
  const level = { rules: MESSAGE_RULES_VERSION, key: secret.key };
  const message = await withOrderedLog(config, { onlyReads: true, secret }, async (log) => {
    const view = await readClusterView(log);
    const refusal = describeRefusal(view, secret.key, without);
    if (refusal !== undefined) throw new CommandFailure(refusal);
    if (view.reports.every(([, { rules = 0 }]) => rules >= level.rules)) return undefined;
    return log.append(buildRulesMessage(level, view.state.lastSeq), APPEND_MS);
  });
  if (flags.json === true) printJson({ rules: level.rules, message: message ?? null });
  else if (message === undefined) print(`the log has rules ${level.rules} already`);
  else print(`the log has rules ${level.rules} from message ${message} on`);
}

function describeRefusal(
  view: ClusterView,
  key: string,
  without: ReadonlySet<string>,
): string | undefined {
  const { reports, strangers = [], generation } = view;
  const counted = reports.filter(([node]) => !without.has(node));
  if (counted.length === 0) return "no node has told of itself: start the nodes first";
  const lower = [
    ...findNodesBelowRules(counted, MESSAGE_RULES_VERSION),
    ...strangers.filter((node) => !without.has(node)),
  ];
  if (lower.length > 0)
    return `upgrade these nodes first, or leave out with \`--without\` those that are gone for good: ${lower.join(", ")}`;
  const other = counted.find(
    ([, report]) => report.key !== key || report.generation !== generation,
  );
  if (other === undefined) return undefined;
  return `node \`${other[0]}\` has another bureau key, or follows another generation: name the data directory of one of this cluster's nodes`;
}

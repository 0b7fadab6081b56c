// `trustrank archive`: the states that an archive keeps beside the one in force, and their end.
import { DAY_MS } from "../../contract/units.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { pruneArchive } from "../../ledger/archive/prune.ts";
import { listArchiveStates } from "../../ledger/archive/states.ts";
import { type BackupManifestBody, requireManifest } from "../../ledger/backup/manifest.ts";
import { print, printJson, type OutputFlags } from "../output.ts";

/** Lists the state in force and the earlier ones, oldest first. @throws BackupFault without any. */
export function listArchive(root: string, { json }: OutputFlags): void {
  const inForce = requireManifest(diskFileLayer, root);
  const states = listArchiveStates(diskFileLayer, root);
  const all = [
    ...states.map(({ name, isParted, manifest }) => ({
      ...formatStateRow(manifest),
      name,
      isParted,
    })),
    { ...formatStateRow(inForce), name: null, isParted: false },
  ];
  if (json === true) {
    return printJson(all.map(({ isParted, ...row }) => ({ ...row, is_parted: isParted })));
  }
  for (const { name, isParted, position, made_at: madeAt } of all) {
    const what = isParted ? ", of a history that the journal has parted from" : "";
    print(`${name ?? "in force"}: position ${position}, of ${madeAt}${what}`);
  }
}

/** Removes states older than so many days, and what only they have. */
export function runArchivePrune(root: string, flags: OutputFlags & { keep: number }): void {
  requireManifest(diskFileLayer, root);
  const nowMs = Date.now();
  const pruned = pruneArchive(diskFileLayer, root, nowMs - flags.keep * DAY_MS, nowMs);
  if (flags.json === true) {
    return printJson({ archive: root, states: pruned.states, objects: pruned.objects ?? null });
  }
  print(
    `removed ${pruned.states.length} states${pruned.states.map((each) => `\n  ${each}`).join("")}`,
  );
  if (pruned.objects === undefined) {
    print("a service ships there now: it removes what only they had within half an hour");
  } else print(`removed ${pruned.objects} objects that nothing names`);
}

function formatStateRow({ position, chain, made_at }: BackupManifestBody) {
  return { position, chain, made_at };
}

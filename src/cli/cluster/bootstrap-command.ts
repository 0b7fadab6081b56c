// `trustrank cluster bootstrap`: the journal of a new node, copied from one that runs.
import { existsSync } from "node:fs";
import type { JournalSegments } from "../../contract/schemas/cluster/segments.ts";
import { claimDataDirectory, resolveDataPaths } from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { loadBureauKey } from "../../journal/signing-key.ts";
import { BootstrapRefused, JournalBootstrap } from "../../ledger/ordered/copy-in.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_USAGE } from "../../service/failure.ts";
import { createClaimOptions, type DataAccess } from "../data-access.ts";
import { printNote, print, printJson, type OutputFlags } from "../output.ts";
import { ServerClient } from "../server-client.ts";
import { FETCHED_SEGMENT_BYTES_MAX } from "./ordered-log.ts";

export interface BootstrapFlags extends OutputFlags {
  readonly from: string;
}

/** May be run again after whatever stopped it: what is there is verified and kept. */
export async function bootstrapNode(
  { dataDir, server }: DataAccess,
  flags: BootstrapFlags,
): Promise<void> {
  const { bureauKey } = resolveDataPaths(dataDir);
  if (!existsSync(bureauKey)) {
    throw new CommandFailure(
      `there is no \`${bureauKey}\`: copy it from a node of the cluster first`,
      EXIT_USAGE,
    );
  }
  const client = new ServerClient(flags.from, server);
  const claim = await claimDataDirectory(dataDir, createClaimOptions(0));
  try {
    const { journal } = claim.paths;
    const copy = new JournalBootstrap(diskFileLayer, journal, loadBureauKey(bureauKey, false));
    const before = copy.lsn;
    const bytes = await fetchMissingSegments(client, copy);
    if (flags.json === true) printJson({ position: copy.lsn, former_position: before, bytes });
    else print(`copied up to position ${copy.lsn}: start the node, the log gives it the rest`);
  } catch (error) {
    if (!(error instanceof BootstrapRefused)) throw error;
    throw new CommandFailure(error.message, EXIT_DAMAGED);
  } finally {
    await claim.release();
  }
}

/** Returns the bytes fetched. */
async function fetchMissingSegments(client: ServerClient, copy: JournalBootstrap): Promise<number> {
  const { segments } = await client.sendJson<JournalSegments>("GET", "/v1/cluster/segments");
  let fetched = 0;
  for (const { name, first, bytes: size } of segments) {
    if (first < copy.nextFirstLsn) continue;
    if (size > FETCHED_SEGMENT_BYTES_MAX)
      throw new BootstrapRefused(`\`${name}\` has ${size} bytes`);
    const bytes = Buffer.from(await client.fetchBytes(`/v1/cluster/segments/${name}`));
    fetched += bytes.byteLength;
    copy.installSegment(bytes);
    printNote(`${name}: ${bytes.byteLength} bytes`);
  }
  return fetched;
}

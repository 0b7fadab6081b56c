// `trustrank cluster repair`: damaged segments of a node's journal, fetched from nodes that have them whole.
import { existsSync } from "node:fs";
import type { JournalSegments } from "../../contract/schemas/cluster/segments.ts";
import {
  claimDataDirectory,
  type DataDirectoryClaim,
  DataDirectoryInUse,
  resolveDataPaths,
} from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { findServer } from "../../journal/ownership/server-address.ts";
import { loadBureauKey } from "../../journal/signing-key.ts";
import {
  repairFromPeers,
  PeerRepairRefused,
  type PeerRepairReport,
  type SegmentPeer,
} from "../../ledger/ordered/peer-repair.ts";
import { readKnownDurablePosition } from "../../ledger/snapshot/high-water.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_USAGE } from "../../service/failure.ts";
import { createUnservedClaimOptions, type DataAccess } from "../data-access.ts";
import { printNote, print, printJson, type OutputFlags } from "../output.ts";
import { ServerClient } from "../server-client.ts";
import { FETCHED_SEGMENT_BYTES_MAX } from "./ordered-log.ts";

export interface RepairFlags extends OutputFlags {
  /** Base URLs, with commas between them. */
  readonly from: string;
}

/** Exits with 65 when a segment stays damaged. May be run again after whatever stopped it. */
export async function repairNode(access: DataAccess, flags: RepairFlags): Promise<void> {
  const { dataDir, server } = access;
  const paths = resolveDataPaths(dataDir);
  if (!existsSync(paths.journal) || !existsSync(paths.bureauKey)) {
    throw new CommandFailure(
      `there is no journal with its \`bureau.key\` in \`${dataDir}\`: see \`trustrank cluster bootstrap\``,
      EXIT_USAGE,
    );
  }
  const peers = flags.from
    .split(",")
    .map((url) => openSegmentPeer(new ServerClient(url.trim(), server)));
  const claim = await claimUnlessServed(access);
  try {
    const report = await repairFromPeers({
      files: diskFileLayer,
      directory: paths.journal,
      publicKey: loadBureauKey(paths.bureauKey, false).publicKey,
      peers,
      known: claim && readKnownDurablePosition(diskFileLayer, paths.root, paths.snapshots),
    });
    if (flags.json === true) printJson(describeRepairAsJson(report, claim !== undefined));
    else printRepair(report);
  } catch (error) {
    if (!(error instanceof PeerRepairRefused)) throw error;
    throw new CommandFailure(error.message, EXIT_DAMAGED);
  } finally {
    await claim?.release();
  }
}

/**
 * Undefined where a service runs over the directory: it never writes to a sealed segment again, and whoever
 * reads one goes on in the file that it has open.
 */
async function claimUnlessServed(access: DataAccess): Promise<DataDirectoryClaim | undefined> {
  const { dataDir, ownerWaitMs } = access;
  try {
    return await claimDataDirectory(dataDir, createUnservedClaimOptions(dataDir, ownerWaitMs));
  } catch (error) {
    const isServed = error instanceof DataDirectoryInUse && findServer(dataDir) !== undefined;
    if (!isServed) throw error;
    printNote("a service runs over it: the newest segment is left alone");
    return undefined;
  }
}

function openSegmentPeer(client: ServerClient): SegmentPeer {
  let listed: Promise<JournalSegments> | undefined;
  const find = async (segment: string) => {
    listed ??= client.sendJson<JournalSegments>("GET", "/v1/cluster/segments");
    return (await listed).segments.find(({ name }) => name === segment);
  };
  return {
    name: client.url,
    has: async (segment) => (await find(segment)) !== undefined,
    fetch: async (segment) => {
      const found = await find(segment);
      if (found === undefined) throw new PeerRepairRefused("it has none of that name");
      if (found.bytes > FETCHED_SEGMENT_BYTES_MAX)
        throw new PeerRepairRefused(`it has ${found.bytes} bytes`);
      return Buffer.from(await client.fetchBytes(`/v1/cluster/segments/${segment}`));
    },
  };
}

function describeRepairAsJson({ segments, lsn, mended }: PeerRepairReport, isWhole: boolean) {
  return { segments, position: lsn, newest_verified: isWhole, mended };
}

function printRepair({ segments, lsn, mended }: PeerRepairReport): void {
  for (const { segment, reason, from, kept } of mended) {
    print(`mended ${segment} from ${from}: ${reason}`);
    if (kept !== undefined) print(`kept   the damaged file as ${kept}`);
  }
  if (mended.length === 0) print("nothing to repair");
  print(`${segments} segments verify, up to position ${lsn}`);
}

// `trustrank doctor`: checks every part of a data directory, and reports faults with their remedy.
// Checking changes nothing; `--repair` first mends the journal, under the directory's lock.
import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";

import { hasKeyFile, KEY_FILE_MISSING_WARNING } from "../http/access/key-file.ts";
import { openKeyring } from "../http/access/keyring.ts";
import { buildVouchingWarning } from "../http/access/vouching-warning.ts";
import { describeForeignKey, findForeignSigner } from "../journal/signing/signer.ts";
import { loadBureauKey } from "../journal/signing-key.ts";
import {
  claimDataDirectory,
  readCurrentOwner,
  resolveDataPaths,
  RESTORING_FILE,
  type DataPaths,
} from "../journal/data-directory.ts";
import { formatOwner, readOwner } from "../journal/ownership/owner.ts";
import { findServer, isDirectoryOwned } from "../journal/ownership/server-address.ts";
import { replaceLostBureauKey } from "../ledger/signing/replace-lost-key.ts";
import { measureDiskSpace } from "../ledger/disk/reserve.ts";
import { diskFileLayer } from "../platform/files.ts";
import { readKnownDurablePosition } from "../ledger/snapshot/high-water.ts";
import { repairJournal, type JournalRepairReport } from "../journal/repair.ts";
import { removeSnapshots } from "../ledger/snapshot/files.ts";
import { type JournalVerification, verifyJournal } from "../journal/verify.ts";
import {
  type AcceptedLoss,
  acceptJournalEnd,
  acceptLoss,
  describeAcceptedLoss,
} from "../service/accept-loss.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED } from "../service/failure.ts";
import { IgnoredMessageTally } from "../service/ignored-messages.ts";
import { describeNoReviewCosts, describeReviewCosts } from "../service/review-costs.ts";
import { SignerTally } from "../service/signers.ts";
import { measureTableFill } from "../service/table-fill.ts";
import { createUnservedClaimOptions } from "./data-access.ts";
import { print, printJson, type OutputFlags } from "./output.ts";

/** Settings of the service that a finding depends on. */
interface DoctorSettings {
  /** Space that the service keeps free on the disk. */
  readonly reserveBytes: number;
  /** Whether credibility weighs each reporter. */
  readonly hasSeeds: boolean;
  /** Bound of the agent table, in bytes. */
  readonly tableBytesMax: number;
  /** Longest wait in ms for an owner that is ending, where something is to be changed. */
  readonly ownerWaitMs: number;
}

interface DoctorFinding {
  readonly part: string;
  readonly isSound: boolean;
  readonly detail: string;
  /** Advice to the operator; empty when nothing is to be done. */
  readonly advice: string;
}

/**
 * Prints one line per part. Ends with exit code 65 for damaged evidence, 1 for anything else.
 */
export async function runDoctor(
  dataDir: string,
  settings: DoctorSettings,
  flags: OutputFlags & { repair?: boolean; acceptLoss?: boolean },
): Promise<void> {
  const paths = resolveDataPaths(dataDir);
  const isThere = existsSync(dataDir);
  const accepted =
    flags.acceptLoss === true && isThere
      ? await acceptLoss(
          dataDir,
          Date.now(),
          createUnservedClaimOptions(dataDir, settings.ownerWaitMs),
        )
      : undefined;
  const repair =
    flags.repair === true && isThere
      ? await claimAndRepairJournal(dataDir, settings.ownerWaitMs)
      : undefined;
  const signers = new SignerTally(Date.now());
  const findings = isThere
    ? [
        checkDirectory(paths),
        checkDiskSpace(paths, settings.reserveBytes),
        ...checkJournalAndTable(paths, settings, signers),
        checkSigningKey(paths),
        await checkApiKeys(paths, settings.hasSeeds, signers.owners.hasVouched()),
      ]
    : [createSoundFinding("directory", `${dataDir} does not exist yet: the first start makes it`)];
  if (flags.json === true)
    printJson({
      ...describeFindingsAsJson(dataDir, findings, repair),
      ...buildLossReport(accepted),
    });
  else {
    if (accepted !== undefined) print(`accepted: ${describeAcceptedLoss(accepted)}`);
    else if (flags.acceptLoss === true) print("nothing is lost at the end of the journal");
    printFindings(findings, repair);
  }
  const unsound = findings.filter((each) => !each.isSound);
  if (unsound.length === 0) return;
  const isEvidenceDamaged = unsound.some((each) => each.part === "journal");
  throw new CommandFailure(
    `${unsound.map((each) => each.part).join(", ")}: not sound`,
    isEvidenceDamaged ? EXIT_DAMAGED : EXIT_FAILED,
  );
}

interface DirectoryRepairReport extends JournalRepairReport {
  /** Whether the key in `bureau.key` went on with the journal of a key that is lost. */
  readonly isKeyReplaced: boolean;
}

function createEmptyRepairReport(): DirectoryRepairReport {
  return { damages: [], lost: [], bytesLost: 0, quarantined: [], isKeyReplaced: false };
}

/** Keeps every record that still verifies; the rest is set aside, never deleted. */
async function claimAndRepairJournal(
  dataDir: string,
  ownerWaitMs: number,
): Promise<DirectoryRepairReport> {
  const claim = await claimDataDirectory(dataDir, createUnservedClaimOptions(dataDir, ownerWaitMs));
  try {
    const { journal, bureauKey } = claim.paths;
    if (!existsSync(journal)) return createEmptyRepairReport();
    const report = repairJournal({
      files: diskFileLayer,
      directory: journal,
      key: loadBureauKey(bureauKey),
      epoch: claim.epoch,
      nowMs: Date.now(),
    });
    // A snapshot may count lost records: the next start replays the remaining ones.
    if (report.damages.length > 0) {
      removeSnapshots(diskFileLayer, claim.paths.snapshots);
      acceptJournalEnd(claim.paths, Date.now());
    }
    return { ...report, isKeyReplaced: replaceLostBureauKey(claim, Date.now()) };
  } finally {
    await claim.release();
  }
}

function describeFindingsAsJson(
  dataDir: string,
  findings: readonly DoctorFinding[],
  repair: DirectoryRepairReport | undefined,
) {
  return {
    data_dir: dataDir,
    ok: findings.every((each) => each.isSound),
    findings: findings.map(({ part, isSound, detail, advice }) => ({
      part,
      ok: isSound,
      detail,
      advice,
    })),
    ...(repair === undefined
      ? {}
      : {
          repaired: repair.damages.length,
          lost: repair.lost.map(({ firstLost, lastLost }) => [firstLost, lastLost]),
          quarantined: repair.quarantined,
          signing_key_replaced: repair.isKeyReplaced,
        }),
  };
}

function buildLossReport(accepted: AcceptedLoss | undefined) {
  if (accepted === undefined) return {};
  return { accepted_loss: [accepted.firstLost, accepted.lastLost] };
}

function printFindings(
  findings: readonly DoctorFinding[],
  repair: DirectoryRepairReport | undefined,
): void {
  const isNothing = repair?.damages.length === 0 && !repair.isKeyReplaced;
  if (isNothing) print("nothing to repair");
  if (repair?.isKeyReplaced === true) {
    print("the key in bureau.key signs from now on; the one before it stays in the published set");
  }
  for (const damage of repair?.damages ?? []) {
    print(`mended ${damage.segment} at byte ${damage.offset}: ${damage.reason}`);
  }
  for (const { firstLost, lastLost } of repair?.lost ?? []) {
    print(`lost   positions ${firstLost} to ${lastLost}`);
  }
  for (const name of repair?.quarantined ?? []) print(`kept   the damaged file as ${name}`);
  for (const { part, isSound, detail, advice } of findings) {
    print(`${isSound ? "ok   " : "WRONG"}  ${part}: ${detail}`);
    if (advice !== "") print(`       ${advice}`);
  }
}

function createSoundFinding(part: string, detail: string): DoctorFinding {
  return { part, isSound: true, detail, advice: "" };
}

function createUnsoundFinding(part: string, detail: string, advice: string): DoctorFinding {
  return { part, isSound: false, detail, advice };
}

function checkDirectory(paths: DataPaths): DoctorFinding {
  try {
    accessSync(paths.root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return createUnsoundFinding(
      "directory",
      (error as Error).message,
      "give its owner the right to write it",
    );
  }
  if (existsSync(join(paths.root, RESTORING_FILE))) {
    return createUnsoundFinding(
      "directory",
      `the restore into ${paths.root} did not end`,
      "empty it, restore again",
    );
  }
  return createSoundFinding("directory", `${paths.root}, ${describeDirectoryOwner(paths.root)}`);
}

function describeDirectoryOwner(root: string): string {
  const server = findServer(root);
  if (server !== undefined) return `the server at ${server.url} holds it`;
  const owner = readCurrentOwner(root);
  if (isDirectoryOwned(root))
    return `${owner === undefined ? "another process" : formatOwner(owner)} holds it`;
  const former = readOwner(root);
  const isCopy = former !== undefined && owner === undefined;
  return isCopy ? `a copy of what ${formatOwner(former)} owned` : "no server holds it";
}

/** Below the reserve the service refuses outcomes; scores go on. */
function checkDiskSpace(paths: DataPaths, reserveBytes: number): DoctorFinding {
  const directory = existsSync(paths.journal) ? paths.journal : paths.root;
  const { freeBytes, ballastBytes, isLow } = measureDiskSpace(
    diskFileLayer,
    directory,
    reserveBytes,
  );
  const detail = `${floorToMebibytes(freeBytes)} MiB free, ballast of ${floorToMebibytes(ballastBytes)} MiB`;
  if (!isLow) return createSoundFinding("disk", detail);
  const wanted = floorToMebibytes(2 * reserveBytes - ballastBytes);
  return createUnsoundFinding("disk", detail, `outcomes are refused until ${wanted} MiB are free`);
}

function floorToMebibytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}

/** The journal, and where it is sound, the table, tenants' amounts and the signers that it gives; fills `signers`. */
function checkJournalAndTable(
  paths: DataPaths,
  { tableBytesMax, hasSeeds }: DoctorSettings,
  signers: SignerTally,
): DoctorFinding[] {
  const stakes = { part: "stakes", isSound: true };
  if (!existsSync(paths.journal)) {
    return [createSoundFinding("journal", "empty"), { ...stakes, ...describeNoReviewCosts() }];
  }
  try {
    const known = readKnownDurablePosition(diskFileLayer, paths.root, paths.snapshots);
    const ignored = new IgnoredMessageTally();
    const add = (bytes: Buffer, at: number) => {
      signers.add(bytes, at);
      ignored.add(bytes, at);
    };
    const report = verifyJournal(diskFileLayer, paths.journal, known, add);
    const finding = convertJournalReport(report);
    if (!finding.isSound) return [finding];
    const { detail, advice, overflow } = measureTableFill(paths.journal, report.lsn, tableBytesMax);
    const passedOver = ignored.describe();
    return [
      finding,
      { part: "agent table", isSound: overflow === 0, detail, advice },
      ...(passedOver === undefined ? [] : [{ part: "cluster log", isSound: true, ...passedOver }]),
      { ...stakes, ...describeReviewCosts(paths.journal, report.lsn) },
      { part: "signers", isSound: true, ...signers.describe(hasSeeds) },
    ];
  } catch (error) {
    return [
      createUnsoundFinding(
        "journal",
        (error as Error).message,
        "the journal's files must be readable",
      ),
    ];
  }
}

/** Every frame, commit, chain and signature, without cutting a torn end. */
function convertJournalReport(report: JournalVerification): DoctorFinding {
  const part = "journal";
  const { records, bytes, tornBytes, gaps, damage, signatures, forged } = report;
  const { publicKeys, unannounced } = report;
  if (damage !== undefined) {
    const { reason, segment, offset, afterLsn, lostUpto } = damage;
    const flag = lostUpto === undefined ? "--repair" : "--accept-loss";
    const advice = `put the file back from a backup, in a cluster fetch it by \`trustrank cluster repair\`, or \`trustrank doctor ${flag}\` to go on without it`;
    const place = `${segment} at byte ${offset}, after position ${afterLsn}`;
    return createUnsoundFinding(part, `${reason} in ${place}`, advice);
  }
  if (forged.length > 0) {
    const places = forged.slice(0, 5).join(", ");
    const detail = `${forged.length} records are not what their reporters signed (${places})`;
    return createUnsoundFinding(
      part,
      detail,
      "somebody with the bureau's key wrote them: restore a backup",
    );
  }
  const torn =
    tornBytes === 0 ? "" : `; the next start drops ${tornBytes} bytes of an unfinished write`;
  const lost = gaps.length === 0 ? "" : `; ${gaps.length} gaps of an earlier repair`;
  const signed = signatures === 0 ? "" : `, ${signatures} signatures of reporters with them`;
  const keys =
    publicKeys.length > 1 ? `; ${publicKeys.length} signing keys one after the other` : "";
  const finding = createSoundFinding(
    part,
    `${records} records in ${bytes} bytes verify${signed}${keys}${torn}${lost}`,
  );
  if (unannounced.length === 0) return finding;
  const where = unannounced.slice(0, 5).join(", ");
  const advice = `${where}: begins under a key that the one before has not announced; a repair without bureau.key does that, and whoever else could write here`;
  return { ...finding, advice };
}

function checkSigningKey(paths: DataPaths): DoctorFinding {
  const part = "bureau key";
  if (!existsSync(paths.bureauKey)) {
    if (!existsSync(paths.journal)) return createSoundFinding(part, "the first start makes it");
    return createUnsoundFinding(
      part,
      "missing",
      "put bureau.key back, or let `--repair` make a new one: no start goes on without",
    );
  }
  try {
    const key = loadBureauKey(paths.bureauKey, false);
    const signer = existsSync(paths.journal)
      ? findForeignSigner(diskFileLayer, paths, key)
      : undefined;
    if (signer === undefined) return createSoundFinding(part, "the one that signs the journal");
    const { reason, advice } = describeForeignKey(key, signer);
    return createUnsoundFinding(part, reason, advice);
  } catch (error) {
    return createUnsoundFinding(
      part,
      (error as Error).message,
      "put bureau.key back from a backup",
    );
  }
}

async function checkApiKeys(
  paths: DataPaths,
  hasSeeds: boolean,
  hasVouchedOwner: boolean,
): Promise<DoctorFinding> {
  try {
    const keyring = await openKeyring({ dataDir: paths.root, now: Date.now });
    const active = keyring.list().filter((key) => key.revoked_at === null);
    const { lsn } = readKnownDurablePosition(diskFileLayer, paths.root, paths.snapshots);
    if (lsn > 0 && !hasKeyFile(paths.root)) {
      return { ...createSoundFinding("API keys", "none"), advice: KEY_FILE_MISSING_WARNING };
    }
    const vouching = { keys: keyring.listStoredKeys(), hasVouchedOwner, hasSeeds };
    const advice = buildVouchingWarning(vouching, Date.now());
    return { ...createSoundFinding("API keys", `${active.length} not revoked`), advice };
  } catch (error) {
    return createUnsoundFinding("API keys", (error as Error).message, "no start goes on with it");
  }
}

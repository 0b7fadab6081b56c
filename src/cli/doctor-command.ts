// `trustrank doctor`: looks at every part of a data directory, says what is wrong and what would
// mend it. Looking changes nothing.
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { createPrivateKey } from "node:crypto";

import { openKeyring } from "../http/keys.ts";
import { dataPaths, findServer } from "../ledger/data-directory.ts";
import type { DataPaths } from "../ledger/data-directory.ts";
import { JournalDamaged } from "../ledger/journal-faults.ts";
import { nodeFiles } from "../ledger/journal-files.ts";
import { recoverJournal } from "../ledger/journal-recovery.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED } from "./failure.ts";
import { print, printJson } from "./output.ts";

interface Finding {
  readonly part: string;
  readonly isSound: boolean;
  readonly detail: string;
  /** What to do; empty when nothing is wrong. */
  readonly advice: string;
}

/** Prints one line per part. Ends with exit code 65 for damaged evidence, 1 for anything else. */
export async function runDoctor(dataDir: string, flags: { json?: boolean }): Promise<void> {
  const paths = dataPaths(dataDir);
  const findings = existsSync(dataDir)
    ? [directoryFinding(paths), journalFinding(paths), keyFinding(paths), await keysFinding(paths)]
    : [sound("directory", `${dataDir} does not exist yet: the first start makes it`)];
  if (flags.json === true) {
    const rows = findings.map(({ part, isSound, detail, advice }) => ({
      part,
      ok: isSound,
      detail,
      advice,
    }));
    printJson({ data_dir: dataDir, ok: findings.every((each) => each.isSound), findings: rows });
  } else {
    for (const { part, isSound, detail, advice } of findings) {
      print(`${isSound ? "ok   " : "WRONG"} ${part}: ${detail}`);
      if (advice !== "") print(`      ${advice}`);
    }
  }
  const unsound = findings.filter((each) => !each.isSound);
  if (unsound.length === 0) return;
  const isEvidenceDamaged = unsound.some((each) => each.part === "journal");
  throw new CommandFailure(
    `${unsound.map((each) => each.part).join(", ")}: not sound`,
    isEvidenceDamaged ? EXIT_DAMAGED : EXIT_FAILED,
  );
}

function sound(part: string, detail: string): Finding {
  return { part, isSound: true, detail, advice: "" };
}

function wrong(part: string, detail: string, advice: string): Finding {
  return { part, isSound: false, detail, advice };
}

function directoryFinding(paths: DataPaths): Finding {
  try {
    accessSync(paths.root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return wrong("directory", (error as Error).message, "give its owner the right to write it");
  }
  const server = findServer(paths.root);
  const holder =
    server === undefined ? "no server holds it" : `the server at ${server.url} holds it`;
  return sound("directory", `${paths.root}, ${holder}`);
}

/** Every frame, commit, chain and signature, without cutting a torn end. */
function journalFinding(paths: DataPaths): Finding {
  if (!existsSync(paths.journal)) return sound("journal", "empty");
  try {
    const { tail, bytes, truncatedBytes } = recoverJournal(
      nodeFiles,
      paths.journal,
      () => undefined,
      true,
    );
    const torn =
      truncatedBytes === 0
        ? ""
        : `, and ${truncatedBytes} bytes of an unfinished write that the next start drops`;
    return sound("journal", `${tail.lsn} records in ${bytes} bytes verify${torn}`);
  } catch (error) {
    const advice =
      error instanceof JournalDamaged
        ? "put the segment back from a backup, or `doctor --repair` to go on without what is lost"
        : "the journal's files must be readable";
    return wrong("journal", (error as Error).message, advice);
  }
}

function keyFinding(paths: DataPaths): Finding {
  const part = "bureau key";
  if (!existsSync(paths.bureauKey)) {
    if (!existsSync(paths.journal)) return sound(part, "the first start makes it");
    return wrong(part, "missing", "put bureau.key back, or the next start signs with a new one");
  }
  try {
    createPrivateKey(readFileSync(paths.bureauKey));
    return sound(part, "readable");
  } catch (error) {
    return wrong(part, (error as Error).message, "put bureau.key back from a backup");
  }
}

async function keysFinding(paths: DataPaths): Promise<Finding> {
  try {
    const keyring = await openKeyring({ dataDir: paths.root, now: Date.now });
    const active = keyring.list().filter((key) => key.revoked_at === null);
    return sound("API keys", `${active.length} not revoked`);
  } catch (error) {
    return wrong("API keys", (error as Error).message, "put keys.json back from a backup");
  }
}

// `trustrank evidence`: registers files as sources, lists and revokes them, through the running
// server when there is one, else in the data directory.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, relative } from "node:path";

import { readEnvironment } from "../environment.ts";
import { EVIDENCE_BODY_BYTES_MAX } from "../../contract/limits.ts";
import type { EvidenceItem, EvidenceList, EvidenceRecord } from "../../contract/schemas/sources.ts";
import { parseTableBytesMax } from "../../service/settings/config.ts";
import { openServiceCore } from "../../service/core.ts";
import type { Vault } from "../../vault/vault.ts";
import { runOnFilesOrServer } from "../data-access.ts";
import type { DataAccess } from "../data-access.ts";
import { CommandFailure } from "../../service/failure.ts";
import { formatTable, printNote, print, printJson } from "../output.ts";
import { Progress } from "../progress.ts";

/** Kinds by file name; other files of a folder are left alone. */
const MEDIA_TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  ".txt": "text/plain",
  ".text": "text/plain",
  ".md": "text/markdown",
  ".markdown": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".json": "application/json",
};
/** Bytes of the files in one request; escapes may double a text. */
const BATCH_BYTES_MAX = EVIDENCE_BODY_BYTES_MAX / 3;
const BATCH_FILES_MAX = 200;

export interface EvidenceAddFlags {
  readonly public?: boolean;
  readonly prefix?: string;
  readonly json?: boolean;
}

interface EvidenceFile {
  path: string;
  sourceId: string;
  bytes: number;
}

/** Registers files, and the text, Markdown, HTML and JSON files of folders. */
export async function addEvidence(
  access: DataAccess,
  paths: readonly string[],
  flags: EvidenceAddFlags,
): Promise<void> {
  const files = paths.flatMap((path) => listEvidenceFiles(path, flags.prefix ?? ""));
  if (files.length === 0) throw new CommandFailure("no text, Markdown, HTML or JSON file found");
  const progress = new Progress("registering", files.length);
  let done = 0;
  const records: EvidenceRecord[] = [];
  try {
    await withRegisterCallback(access, async (register) => {
      for (const batch of splitIntoBatches(files)) {
        records.push(...(await register(batch.map((file) => buildEvidenceItem(file, flags)))));
        done += batch.length;
        progress.update(done);
      }
    });
  } finally {
    progress.stop();
  }
  if (flags.json === true) printJson(records);
  else print(`${records.length} sources registered`);
}

/** Lists the newest sources that the key's tenant may cite. */
export async function listEvidence(access: DataAccess, flags: { json?: boolean }): Promise<void> {
  const found = await runOnFilesOrServer<EvidenceList>(
    access,
    (dataDir) => withVaultOnFiles(dataDir, (vault) => Promise.resolve(vault.list("operator"))),
    (client) => client.sendJson("GET", "/v1/evidence"),
  );
  if (flags.json === true) {
    printJson(found);
    return;
  }
  const rows = found.records.map((record) => [
    record.source_id,
    record.state,
    record.kind,
    String(record.size),
    record.visibility,
    record.registered_at,
    record.sha256.slice(0, 19),
  ]);
  const columns = ["source", "state", "kind", "bytes", "visible to", "registered", "digest"];
  for (const line of formatTable(columns, rows)) print(line);
  printNote(`root ${found.root} of ${found.tree_size} records`);
}

/** Revokes a source at once; repeating it changes nothing. */
export async function revokeEvidence(
  access: DataAccess,
  sourceId: string,
  flags: { json?: boolean },
): Promise<void> {
  const revoked = await runOnFilesOrServer<EvidenceRecord>(
    access,
    (dataDir) => withVaultOnFiles(dataDir, (vault) => vault.revoke(sourceId, OPERATOR_REGISTRAR)),
    (client) => client.sendJson("DELETE", `/v1/evidence/${encodeURIComponent(sourceId)}`),
  );
  if (flags.json === true) printJson(revoked);
  else print(`revoked ${revoked.source_id}`);
}

/** Without a server the operator acts, with all rights. */
export const OPERATOR_REGISTRAR = { tenant: "operator", keyId: "command-line", isAdmin: true };

type RegisterCallback = (items: EvidenceItem[]) => Promise<EvidenceRecord[]>;

function withRegisterCallback(
  access: DataAccess,
  work: (register: RegisterCallback) => Promise<void>,
): Promise<void> {
  return runOnFilesOrServer<void>(
    access,
    (dataDir) =>
      withVaultOnFiles(dataDir, (vault) =>
        work(async (items) => {
          const made = await vault.register(items, OPERATOR_REGISTRAR);
          return made.map(({ record }) => record);
        }),
      ),
    (client) =>
      work(async (items) => {
        const path = "/v1/evidence";
        const answer = await client.sendJson<{ records: EvidenceRecord[] }>("POST", path, {
          items,
        });
        return answer.records;
      }),
  );
}

/** Runs `work` on the vault of a data directory that this process holds. */
export async function withVaultOnFiles<T>(
  dataDir: string,
  work: (vault: Vault) => Promise<T>,
): Promise<T> {
  const evidence = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(readEnvironment()),
    onFatal: (exitCode) => {
      process.exitCode = exitCode;
    },
  });
  try {
    return await work(evidence.sources.vault);
  } finally {
    await evidence.sources.close();
    await evidence.ledger.close();
  }
}

function listEvidenceFiles(path: string, prefix: string): EvidenceFile[] {
  if (!existsSync(path)) throw new CommandFailure(`\`${path}\` does not exist`);
  if (!statSync(path).isDirectory())
    return [readEvidenceFile(path, prefix + path.replace(/^(?:\.?\/)+/, ""))];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).toSorted();
  return names
    .map((name) => join(path, name))
    .filter(
      (name) => extname(name).toLowerCase() in MEDIA_TYPES_BY_EXTENSION && statSync(name).isFile(),
    )
    .map((name) => readEvidenceFile(name, prefix + relative(path, name).split("\\").join("/")));
}

function readEvidenceFile(path: string, sourceId: string): EvidenceFile {
  const { size } = statSync(path);
  if (size > BATCH_BYTES_MAX) {
    throw new CommandFailure(`\`${path}\` is larger than ${BATCH_BYTES_MAX} bytes: split it`);
  }
  return { path, sourceId, bytes: size };
}

function* splitIntoBatches(files: readonly EvidenceFile[]): Generator<EvidenceFile[]> {
  let batch: EvidenceFile[] = [];
  let bytes = 0;
  for (const file of files) {
    const isFull = batch.length === BATCH_FILES_MAX || bytes + file.bytes > BATCH_BYTES_MAX;
    if (batch.length > 0 && isFull) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(file);
    bytes += file.bytes;
  }
  if (batch.length > 0) yield batch;
}

function buildEvidenceItem(file: EvidenceFile, flags: EvidenceAddFlags): EvidenceItem {
  return {
    source_id: file.sourceId,
    kind: MEDIA_TYPES_BY_EXTENSION[extname(file.path).toLowerCase()] ?? "text/plain",
    title: file.sourceId.split("/").at(-1)!,
    text: readFileSync(file.path, "utf8"),
    visibility: flags.public === true ? "public" : "tenant",
    state: "active",
  };
}

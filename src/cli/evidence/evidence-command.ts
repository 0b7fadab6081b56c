// `trustrank evidence`: registers, lists and revokes sources; records labels of texts and lists thresholds. Works through
// the running server when there is one, else in the data directory.
import type {
  LabelResult,
  TextLabel,
  ThresholdList,
  EvidenceItem,
  EvidenceList,
  EvidenceRecord,
} from "../../contract/schemas/sources.ts";
import { parseTextLabels } from "../../contract/parse/requests.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { runOnFilesOrServer, type DataAccess } from "../data-access.ts";
import { CommandFailure } from "../../service/failure.ts";
import { print, printJson, printTable, type OutputFlags, printNote } from "../output.ts";
import { Progress } from "../progress.ts";
import { readLines } from "../../service/import/read-lines.ts";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, relative } from "node:path";

import { EVIDENCE_BODY_BYTES_MAX } from "../../contract/limits.ts";
import type { Vault } from "../../vault/vault.ts";
import { withCoreOnFiles } from "../file-core.ts";

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
const BATCH_LIMITS = { countMax: 200, sizeMax: BATCH_BYTES_MAX };
/** Characters of one request: escapes may double a text. */
const LABEL_BATCH_LIMITS = { countMax: 200, sizeMax: 256 * 1024 };

export interface EvidenceAddFlags extends OutputFlags {
  readonly public?: boolean;
  readonly prefix?: string;
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
      for (const batch of splitIntoBatches(files, BATCH_LIMITS, ({ bytes }) => bytes)) {
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
export async function listEvidence(access: DataAccess, flags: OutputFlags): Promise<void> {
  const found = await runOnFilesOrServer<EvidenceList>(
    access,
    (dataDir) => withVaultOnFiles(dataDir, (vault) => vault.list("operator")),
    (client) => client.sendJson("GET", "/v1/evidence"),
  );
  if (flags.json === true) return printJson(found);
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
  printTable(columns, rows);
  printNote(`root ${found.root} of ${found.tree_size} records`);
}

/** Revokes a source at once; repeating it changes nothing. */
export async function revokeEvidence(
  access: DataAccess,
  sourceId: string,
  flags: OutputFlags,
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
const OPERATOR_REGISTRAR = { tenant: "operator", keyId: "command-line", isAdmin: true };

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
function withVaultOnFiles<T>(dataDir: string, work: (vault: Vault) => T | Promise<T>): Promise<T> {
  return withCoreOnFiles(dataDir, ({ sources }) => work(sources.vault));
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

/** Splits items into runs of at most `countMax` items and `sizeMax` in all; a larger item is a run of its own. */
function* splitIntoBatches<Item>(
  items: readonly Item[],
  { countMax, sizeMax }: { readonly countMax: number; readonly sizeMax: number },
  measureSize: (item: Item) => number,
): Generator<Item[]> {
  let batch: Item[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = measureSize(item);
    if (batch.length > 0 && (batch.length === countMax || size + itemSize > sizeMax)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(item);
    size += itemSize;
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

type LabelCallback = (items: TextLabel[]) => Promise<LabelResult>;

/** Labels the texts of a file of JSON lines; prints how many counted and the new thresholds. */
export async function labelTexts(
  access: DataAccess,
  path: string,
  flags: OutputFlags,
): Promise<void> {
  const items = readLabels(path);
  const progress = new Progress("labelling", items.length);
  let counted = 0;
  let done = 0;
  let newest: ThresholdList = { model: "", thresholds: [] };
  const work = async (label: LabelCallback) => {
    for (const batch of splitIntoBatches(
      items,
      LABEL_BATCH_LIMITS,
      ({ content }) => content.length,
    )) {
      const result = await label(batch);
      counted += result.items.filter((item) => item.counted).length;
      newest = { model: result.model, thresholds: result.thresholds };
      done += batch.length;
      progress.update(done);
    }
  };
  try {
    await runOnFilesOrServer<void>(
      access,
      (dataDir) =>
        withVaultOnFiles(dataDir, (vault) =>
          work((batch) => vault.recordLabels(batch, OPERATOR_REGISTRAR)),
        ),
      (client) => work((batch) => client.sendJson("POST", "/v1/vault/labels", { items: batch })),
    );
  } finally {
    progress.stop();
  }
  if (flags.json === true) printJson({ labelled: items.length, counted, ...newest });
  else print(`${counted} of ${items.length} labels counted`);
}

/**
 * Thresholds from which texts of each kind are doubted and called hallucinated, for the key's
 * tenant.
 */
export async function listThresholds(access: DataAccess, flags: OutputFlags): Promise<void> {
  const found = await runOnFilesOrServer<ThresholdList>(
    access,
    (dataDir) =>
      withVaultOnFiles(dataDir, (vault) => vault.listThresholds(OPERATOR_REGISTRAR.tenant)),
    (client) => client.sendJson("GET", "/v1/vault/thresholds"),
  );
  if (flags.json === true) return printJson(found);
  const percent = (alpha: number | null) => (alpha === null ? "" : `<= ${alpha * 100} %`);
  const rows = found.thresholds.map((each) => [
    each.kind,
    String(each.doubt_at),
    percent(each.alpha_doubt),
    String(each.hallucinated_at),
    percent(each.alpha_hallucinated),
    each.from,
    `${each.supported} of ${each.needed}`,
  ]);
  const columns = ["kind", "doubt", "false", "hallucinated", "false", "from", "own texts"];
  printTable(columns, rows);
}

function readLabels(path: string): TextLabel[] {
  const items: TextLabel[] = [];
  for (const { number, text } of readLines(path)) {
    try {
      items.push(...parseTextLabels({ items: [JSON.parse(text)] }).items);
    } catch (error) {
      const { message } = error as Error;
      const errors = error instanceof ServiceFault ? error.errors : undefined;
      const first = errors?.[0];
      const what = first === undefined ? message : `${first.pointer.slice(8)} ${first.detail}`;
      throw new CommandFailure(`line ${number} of \`${path}\` is not a label: ${what}`);
    }
  }
  if (items.length === 0) throw new CommandFailure(`\`${path}\` holds no labels`);
  return items;
}

// `trustrank evidence label` and `evidence thresholds`: takes people's findings on texts in, and
// lists the thresholds of doubt for each kind of text.
import type { LabelResult, TextLabel, ThresholdList } from "../../contract/schemas/sources.ts";
import { parseTextLabels } from "../../contract/parse/requests.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { runOnFilesOrServer } from "../data-access.ts";
import type { DataAccess } from "../data-access.ts";
import { withVaultOnFiles, OPERATOR_REGISTRAR } from "./evidence-command.ts";
import { CommandFailure } from "../../service/failure.ts";
import { formatTable, print, printJson } from "../output.ts";
import { Progress } from "../progress.ts";
import { readLines } from "../../service/import/read-lines.ts";

const BATCH_ITEMS = 200;
/** Characters of one request: escapes may double a text. */
const BATCH_CHARS_MAX = 256 * 1024;

type LabelCallback = (items: TextLabel[]) => Promise<LabelResult>;

/** Labels the texts of a file of JSON lines; prints how many counted and the new thresholds. */
export async function labelTexts(
  access: DataAccess,
  path: string,
  flags: { json?: boolean },
): Promise<void> {
  const items = readLabels(path);
  const progress = new Progress("labelling", items.length);
  let counted = 0;
  let done = 0;
  let newest: ThresholdList = { model: "", thresholds: [] };
  const work = async (label: LabelCallback) => {
    for (const batch of splitIntoLabelBatches(items)) {
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
export async function listThresholds(access: DataAccess, flags: { json?: boolean }): Promise<void> {
  const found = await runOnFilesOrServer<ThresholdList>(
    access,
    (dataDir) =>
      withVaultOnFiles(dataDir, (vault) =>
        Promise.resolve(vault.listThresholds(OPERATOR_REGISTRAR.tenant)),
      ),
    (client) => client.sendJson("GET", "/v1/vault/thresholds"),
  );
  if (flags.json === true) {
    printJson(found);
    return;
  }
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
  for (const line of formatTable(columns, rows)) print(line);
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

function* splitIntoLabelBatches(items: readonly TextLabel[]): Generator<TextLabel[]> {
  let batch: TextLabel[] = [];
  let units = 0;
  for (const item of items) {
    const isFull = batch.length === BATCH_ITEMS || units + item.content.length > BATCH_CHARS_MAX;
    if (batch.length > 0 && isFull) {
      yield batch;
      batch = [];
      units = 0;
    }
    batch.push(item);
    units += item.content.length;
  }
  if (batch.length > 0) yield batch;
}

// Worker entry for large texts: the same assessor and index builder over the same shared vault,
// with scratch memory for the largest request.
import { workerData } from "node:worker_threads";
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import { openAssessor } from "./records.ts";
import type { VaultFinding } from "../../vault/assessment/findings.ts";
import { IndexBuilder } from "../../vault/grounding/grounding.ts";
import { prepareText } from "../../vault/grounding/indexing.ts";
import type { PreparedText, TextToIndex } from "../../vault/grounding/indexing.ts";
import { openThreadClock } from "../clock.ts";
import type { TextMeasurement } from "../../vault/calibration/labels.ts";
import type { VaultMemory } from "../../vault/memory.ts";

export interface AssessingWorkerData {
  vaultMemory: VaultMemory;
}

export type AssessingTask =
  | { kind: "assess"; context: VerifyContext; tenant: string }
  | { kind: "measure"; contexts: readonly VerifyContext[]; tenant: string }
  | { kind: "index"; texts: readonly TextToIndex[] };

const { vaultMemory } = workerData as AssessingWorkerData;
const assessor = openAssessor(vaultMemory, openThreadClock().now, Number.POSITIVE_INFINITY);
let builder: IndexBuilder | undefined;

/** The task function that the pool calls. */
export default function runLargeTextTask(
  task: AssessingTask,
): VaultFinding | (TextMeasurement | undefined)[] | PreparedText[] {
  if (task.kind === "assess") return assessor.assess(task.context, task.tenant);
  if (task.kind === "measure") {
    return task.contexts.map((context) => assessor.measure(context, task.tenant));
  }
  const own = (builder ??= new IndexBuilder(vaultMemory.grounding));
  return task.texts.map((text) => prepareText(text, (flat, leaves) => own.build(flat, leaves)));
}

// Thread that assesses until it is stopped, and counts its answers.
import { parentPort, workerData } from "node:worker_threads";
import { VaultAssessor } from "../../src/vault/assessment/assessor.ts";
import type { VaultMemory } from "../../src/vault/memory.ts";
import { contextOf, PAGES } from "./_churn.ts";

/** `control`: word 0 stops the thread, word 1 counts its calls. */
const { memory, control } = workerData as { memory: VaultMemory; control: Int32Array };
const assessor = new VaultAssessor(memory, () => 0);
const answers: Record<string, number> = {};
for (let at = 0; Atomics.load(control, 0) === 0; at++) {
  const { data, reasonCode } = assessor.assess(contextOf(at % PAGES), "acme");
  const answer = `${reasonCode} ${data.sources![0]!.status}`;
  answers[answer] = (answers[answer] ?? 0) + 1;
  Atomics.add(control, 1, 1);
}
parentPort!.postMessage(answers);

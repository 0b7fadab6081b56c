// Moves notes that an older version kept in the store's database alone into the journal, once: from
// then on they can be made again like everything else.
import { ServiceFault } from "../contract/faults.ts";
import type { MigratedNote } from "../contract/notes.ts";
import type { Log } from "../platform/log.ts";

interface NoteSource {
  listUnjournaledNotes(): Promise<MigratedNote[]>;
  waitUntilApplied(position: number): Promise<void>;
}

interface NoteTarget {
  readonly ledger: { position(): number };
  readonly notes: { move(note: MigratedNote): Promise<number> };
}

/**
 * Moves them all, a part at a time. Never rejects: the next start goes on where this one ended. A
 * row that was journaled and not yet replaced is found first, because the store is up by then.
 */
export async function moveOldNotes(
  store: NoteSource,
  { ledger, notes }: NoteTarget,
  log: Log,
): Promise<void> {
  let count = 0;
  try {
    await store.waitUntilApplied(ledger.position());
    for (;;) {
      const found = await store.listUnjournaledNotes();
      if (found.length === 0) break;
      let position = 0;
      for (const note of found) position = await notes.move(note);
      await store.waitUntilApplied(position);
      count += found.length;
    }
    if (count > 0) log.info("notes_moved", { detail: `${count} notes are in the journal now` });
  } catch (error) {
    // The service ends: nothing worth a line.
    if (error instanceof ServiceFault && error.code === "store_unavailable") return;
    log.warn("notes_not_moved", { detail: (error as Error).message });
  }
}

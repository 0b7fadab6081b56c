// Messages about the files of a node's journal, from which another node takes a copy.
import * as t from "../schema.ts";

/** `GET /v1/cluster/segments`. */
export const JournalSegments = t.defineMessage("JournalSegments", {
  segments: t.defineList(
    t.defineObject({
      name: t.text,
      first: t.withDescription(t.integer, "Position of its first record."),
      bytes: t.withDescription(t.integer, "Of the last one: by now; it grows."),
    }),
  ),
});
export type JournalSegments = t.MessageOf<typeof JournalSegments>;

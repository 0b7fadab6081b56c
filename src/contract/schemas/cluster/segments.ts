// Messages about the files of a node's journal, from which another node takes a copy.
import * as t from "../schema.ts";

/** `GET /v1/cluster/segments`. */
export const JournalSegments = t.message("JournalSegments", {
  segments: t.list(
    t.object({
      name: t.text,
      first: t.said(t.integer, "Position of its first record."),
      bytes: t.said(t.integer, "Of the last one: by now; it grows."),
    }),
  ),
});
export type JournalSegments = t.MessageOf<typeof JournalSegments>;

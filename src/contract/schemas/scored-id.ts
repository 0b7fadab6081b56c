// Identifier of an agent that is scored, as requests name it: the `agent://` form, or any other line of
// text, because SPEC §2.1 lets verify ask about plain strings. A reporter has to have the form: only
// such an agent holds a signing key and a standing.
import { describeScoredIdFault, isScoredId } from "../identifiers.ts";
import { AGENT_ID_BYTES_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const DESCRIPTION =
  "`agent://namespace/name` without a segment `.` or `..`, or any other line of text without control " +
  "characters; what reads like an agent identifier in other letters, spacing or encoding must have its form";

const SEGMENT = t.AGENT_SEGMENT;
const LINE = "[^\\u0000-\\u001f\\u007f-\\u009f]+";

const SHOWN = {
  type: "string",
  "~shown": {
    maxLength: AGENT_ID_BYTES_MAX,
    pattern: `^(agent://${SEGMENT}(/${SEGMENT})+|(?![aA][gG][eE][nN][tT]:)${LINE})$`,
    description: DESCRIPTION,
  },
} as const;

export const scoredId = t.defineChecked<string>(
  SHOWN,
  isScoredId,
  (value) => `format ${describeScoredIdFault(value as string)}`,
);

/** The same as the `agent_id` of verify and of provenance, where a wrong length is a fault of its own. */
export const namedAgentId = t.defineChecked<string>(SHOWN, isScoredId, (value) => {
  const bytes = Buffer.byteLength(value as string);
  return bytes === 0 || bytes > AGENT_ID_BYTES_MAX
    ? `length must be 1 to ${AGENT_ID_BYTES_MAX} bytes`
    : `format ${describeScoredIdFault(value as string)}`;
});

// Identifier of an agent that is scored, as requests name it: the `agent://` form, or any other line of
// text, because SPEC §2.1 lets verify ask about plain strings. A reporter has to have the form: only
// such an agent holds a signing key and a standing.
import { isScoredId } from "../identifiers.ts";
import { AGENT_ID_BYTES_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const DESCRIPTION =
  "`agent://namespace/name`, or any other line of text without control characters; what begins " +
  "with `agent://` must have its form";

const SEGMENT = "[A-Za-z0-9._~-]{1,128}";
const LINE = "[^\\u0000-\\u001f\\u007f-\\u009f]+";

export const scoredId = t.defineChecked<string>(
  {
    type: "string",
    "~shown": {
      maxLength: AGENT_ID_BYTES_MAX,
      pattern: `^(agent://${SEGMENT}(/${SEGMENT})+|(?!agent://)${LINE})$`,
      description: DESCRIPTION,
    },
  },
  isScoredId,
  (value) => describeIdFault(value as string),
);

function describeIdFault(value: string): string {
  if (value.startsWith("agent://")) {
    return "format must be an agent identifier, `agent://namespace/name`";
  }
  const plain = `1 to ${AGENT_ID_BYTES_MAX} bytes of text without control characters`;
  return `format must be \`agent://namespace/name\` or ${plain}`;
}

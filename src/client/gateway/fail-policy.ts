// Fail policy of a gateway without a verdict (SPEC §8.1): a table of four rows, total over the tool
// levels, closed for anything else.
import type { ToolLevel } from "../../contract/vocabulary.ts";

/** A row of SPEC §8.1: the effect of a missing verdict at one tool level. */
export interface FailPolicy {
  /** Name in headers and logs. */
  readonly name: "L0_open" | "L1_open" | "L2_closed" | "L3_closed";
  readonly action: "ALLOW" | "BLOCK";
  /** L1: "ALLOW with log". */
  readonly isLogged: boolean;
}

const OPEN_L0: FailPolicy = { name: "L0_open", action: "ALLOW", isLogged: false };
const OPEN_L1: FailPolicy = { name: "L1_open", action: "ALLOW", isLogged: true };
const CLOSED_L2: FailPolicy = { name: "L2_closed", action: "BLOCK", isLogged: true };
const CLOSED_L3: FailPolicy = { name: "L3_closed", action: "BLOCK", isLogged: true };

/** The row of a tool level. */
export function failPolicy(toolLevel: ToolLevel): FailPolicy {
  switch (toolLevel) {
    case "L3":
      return CLOSED_L3;
    case "L2":
      return CLOSED_L2;
    case "L1":
      return OPEN_L1;
    case "L0":
      return OPEN_L0;
  }
  return selectUnknownLevelPolicy(toolLevel);
}

/** Only a caller without types gets here: an unclassified tool counts as critical. */
function selectUnknownLevelPolicy(_toolLevel: never): FailPolicy {
  return CLOSED_L3;
}

/** SPEC §8.3, §4.9: at transaction time of these levels a cached score may be five minutes old. */
export function isSensitive(toolLevel: ToolLevel): boolean {
  return failPolicy(toolLevel).action === "BLOCK";
}

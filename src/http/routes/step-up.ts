// Step-up authentication (RFC 9470): the answer to a CHALLENGE for gateways whose clients can come
// back with a stronger login. What would be strong enough is the operator's to say, in the words of
// its own identity provider; the verdict only says that the present one is not.
import { ServiceFault } from "../../contract/faults.ts";

const ACR_VALUES_LENGTH_MAX = 256;
/** Visible ASCII without `"` and `\`: one word, or several with single spaces. */
const ACR_VALUES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const MAX_AGE = /^[0-9]{1,9}$/;

/** The authentication that would do; one of the two at least. */
export interface StepUpRequirement {
  /** Names of authentication contexts, the preferred one first. */
  readonly acrValues: string | undefined;
  /** Seconds since the last login, in digits. */
  readonly maxAgeSec: string | undefined;
}

/**
 * What a gateway wants a CHALLENGE to be: undefined for a plain denial.
 * @throws ServiceFault `invalid_parameter`; also for words about a login that nothing would use.
 */
export function parseStepUp(
  challenge: string | undefined,
  acrValues: string | undefined,
  maxAgeSec: string | undefined,
): StepUpRequirement | undefined {
  if (challenge !== undefined && challenge !== "deny" && challenge !== "step-up") {
    throw createParameterFault("`challenge` must be one of deny, step-up");
  }
  const isGiven = acrValues !== undefined || maxAgeSec !== undefined;
  if (challenge !== "step-up") {
    if (isGiven) throw createParameterFault("`acr_values` and `max_age` need `challenge=step-up`");
    return undefined;
  }
  if (!isGiven)
    throw createParameterFault("`challenge=step-up` needs `acr_values`, `max_age` or both");
  if (acrValues !== undefined && !isAcrValues(acrValues)) {
    const form = `1 to ${ACR_VALUES_LENGTH_MAX} characters of visible ASCII without quotes`;
    throw createParameterFault(`\`acr_values\` must be ${form}`);
  }
  if (maxAgeSec !== undefined && !MAX_AGE.test(maxAgeSec)) {
    throw createParameterFault("`max_age` must be whole seconds");
  }
  return { acrValues, maxAgeSec };
}

/** Value of `WWW-Authenticate` for a CHALLENGE given for `reason`, a code. */
export function formatStepUpChallenge(
  { acrValues, maxAgeSec }: StepUpRequirement,
  reason: string,
): string {
  const parameters = [
    'error="insufficient_user_authentication"',
    `error_description="a stronger authentication is required (${reason})"`,
  ];
  if (acrValues !== undefined) parameters.push(`acr_values="${acrValues}"`);
  if (maxAgeSec !== undefined) parameters.push(`max_age="${Number(maxAgeSec)}"`);
  return `Bearer ${parameters.join(", ")}`;
}

function isAcrValues(text: string): boolean {
  return text.length <= ACR_VALUES_LENGTH_MAX && ACR_VALUES.test(text);
}

function createParameterFault(detail: string): ServiceFault {
  return new ServiceFault("invalid_parameter", detail);
}

// Kinds of values that a setting can take: how each is read from text, and the words for it in
// `--help`, in the reference page and in the message that refuses anything else.

/** One kind of value. */
export interface SettingKind<Value> {
  /** Completes "takes ..." and "is not ...". */
  readonly takes: string;
  /** @throws RangeError with a sentence that says what is wrong with the text. */
  readonly read: (text: string) => Value;
}

export interface Setting {
  /** As commander takes it; the value's name is the setting's own. */
  readonly flag?: string;
  /** The first one that is set counts. */
  readonly variables: readonly string[];
  readonly kind: SettingKind<unknown>;
  readonly default: string | number | boolean | undefined;
  /** Where the default is no plain value. */
  readonly defaultText?: string;
  readonly sentence: string;
  /** The flag may be given several times: its values are one list with commas. */
  readonly isList?: boolean;
  /** Never printed; may stand in a file of its own, named by the variable with `_FILE` behind it. */
  readonly isSecret?: boolean;
  /** Commands other than `serve` read it, too or alone. */
  readonly readBy?: "serve and commands" | "commands";
}

function defineSettingKind<Value>(
  takes: string,
  valueOf: (text: string) => Value | undefined,
): SettingKind<Value> {
  const read = (given: string) => {
    const value = valueOf(given);
    if (value === undefined) throw new RangeError(`\`${given}\` is not ${takes}`);
    return value;
  };
  return { takes, read };
}

/** Any text at all; `takes` says what it is good for. */
export function createTextKind(takes: string): SettingKind<string> {
  return defineSettingKind(takes, (given) => given);
}

/** Text that `isValid` accepts. */
export function createCheckedTextKind(
  takes: string,
  isValid: (text: string) => boolean,
): SettingKind<string> {
  return defineSettingKind(takes, (given) => (isValid(given) ? given : undefined));
}

/** Text that is never repeated, not even where it is refused. */
export function createSecretKind(takes: string, pattern: RegExp): SettingKind<string> {
  const read = (given: string) => {
    if (!pattern.test(given)) throw new RangeError(`the value is not ${takes}`);
    return given;
  };
  return { takes, read };
}

/** `127.0.0.1:9464`, `[::1]:9464`; port 0 takes any free one. */
export const listenAddressKind: SettingKind<{ host: string; port: number }> = defineSettingKind(
  "an address with a port (`127.0.0.1:9464`, `[::1]:9464`)",
  (given) => {
    const [, bracketed, plain, port] =
      /^(?:\[([0-9A-Fa-f:]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(given) ?? [];
    const host = bracketed ?? plain;
    const isPort = port !== undefined && Number(port) <= 65_535;
    return host !== undefined && isPort ? { host, port: Number(port) } : undefined;
  },
);

/** Decimal digits alone, bounds included. */
export function createWholeNumberKind(min: number, max: number): SettingKind<number> {
  return defineSettingKind(`a whole number from ${min} to ${max}`, (given) =>
    /^\d{1,15}$/.test(given) ? keepWithinBounds(Number(given), min, max) : undefined,
  );
}

/** The same, with up to six decimals. */
export function createDecimalKind(min: number, max: number): SettingKind<number> {
  return defineSettingKind(`a number from ${min} to ${max}`, (given) =>
    /^\d{1,15}(\.\d{1,6})?$/.test(given) ? keepWithinBounds(Number(given), min, max) : undefined,
  );
}

/** Seconds, with or without their unit: `10`, `10s`. */
export function createSecondsKind(min: number, max: number): SettingKind<number> {
  return defineSettingKind(`seconds from ${min} to ${max} (\`10\`, \`10s\`)`, (given) => {
    const [, digits] = /^(\d{1,9}(?:\.\d{1,3})?)s?$/.exec(given) ?? [];
    return digits === undefined ? undefined : keepWithinBounds(Number(digits), min, max);
  });
}

function keepWithinBounds(value: number, min: number, max: number): number | undefined {
  return value >= min && value <= max ? value : undefined;
}

/** One of a few words. */
export function createChoiceKind<Word extends string>(words: readonly Word[]): SettingKind<Word> {
  const quoted = words.map((word) => `\`${word}\``).join(", ");
  return defineSettingKind(`one of ${quoted}`, (given) => words.find((word) => word === given));
}

/** Some of a few words, at least one; read in the order of `words`. */
export function createWordListKind<Word extends string>(
  words: readonly Word[],
): SettingKind<readonly Word[]> {
  const quoted = words.map((word) => `\`${word}\``).join(", ");
  const takes = `a list with commas of one or more of ${quoted}, each once`;
  return defineSettingKind(takes, (given) => {
    const named = given.split(",").map((each) => each.trim());
    const known = words.filter((word) => named.includes(word));
    return known.length === named.length ? known : undefined;
  });
}

/** On or off. */
export const onOffKind: SettingKind<boolean> = defineSettingKind(
  "`on` or `off` (or `1`, `0`)",
  (given) => {
    if (given === "on" || given === "1") return true;
    return given === "off" || given === "0" ? false : undefined;
  },
);

interface Rate {
  perSecond: number;
  burst: number;
}

function parseRate(given: string): Rate | undefined {
  const [perSecond = 0, burst = perSecond] = given.split("/").map(Number);
  const isRate = /^\d{1,7}(\/\d{1,7})?$/.test(given) && perSecond > 0 && burst > 0;
  return isRate ? { perSecond, burst } : undefined;
}

/** `2000`, or with another burst than the rate itself `2000/4000`. */
export const rateKind: SettingKind<Rate> = defineSettingKind(
  "a rate per second (`2000`, or with a burst of its own `2000/4000`)",
  parseRate,
);

/** The same, or `unlimited`. */
export const optionalRateKind: SettingKind<Rate | "unlimited"> = defineSettingKind(
  "a rate per second (`2000`, or with a burst of its own `2000/4000`), or `unlimited`",
  (given) => (given === "unlimited" ? given : parseRate(given)),
);

// A log line for a person at a terminal: time of day, level, event, facts; texts of several lines
// (stacks) below it. Takes the line of JSON, so that both forms say the same.

const LEVEL_WIDTH = 5;
/** A text that needs no quotes. */
const PLAIN = /^[\w./:@+-]+$/;
/** What could move the cursor or change colours, beyond what JSON escapes. */
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g;

/** `12:30:59.123 WARN  event member=value ...`, with a line break at its end. */
export function formatHumanLogLine(line: string): string {
  const { level, time, message, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(LEVEL_WIDTH)} `;
  let text = head + escapeTerminalText(String(message));
  let below = "";
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value === "string" && value.includes("\n")) {
      below += `  ${name}:\n${value.split("\n").map(formatIndentedLine).join("")}`;
    } else text += ` ${name}=${formatFactValue(value)}`;
  }
  return `${text}\n${below}`;
}

function formatIndentedLine(line: string): string {
  return `    ${escapeTerminalText(line)}\n`;
}

function formatFactValue(value: unknown): string {
  if (typeof value === "string" && PLAIN.test(value)) return value;
  return JSON.stringify(value).replaceAll(CONTROLS, "?");
}

/** A text without quotes around it, and without what a terminal would obey. */
function escapeTerminalText(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll(CONTROLS, "?");
}

// Preload of a service under attack: the system's clock as another process sets it, by a file that
// holds the milliseconds by which it is wrong. On every thread; the monotonic clock is left alone.
import { readFileSync } from "node:fs";

const file = process.env["TRUSTRANK_ATTACK_CLOCK"];
const now = Date.now.bind(Date);

function wrongByMs(): number {
  try {
    return Number(readFileSync(file!, "utf8"));
  } catch {
    return 0;
  }
}

if (file !== undefined) Date.now = () => now() + wrongByMs();

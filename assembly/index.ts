import { HEADER_BASE } from "./layout.ts";
export function testExp(x: f64): f64 { return Math.exp(x) + Math.log(x) + <f64>atomic.load<u32>(HEADER_BASE); }

// Seeded random numbers: resampling must give the same answer on every machine and every day. sfc32
// (Doty-Humphrey), passes PractRand; not for secrets.

export interface RandomGenerator {
  /** In [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** Poisson with mean 1. */
  poisson(): number;
}

/** A generator for `seed`, an unsigned 32-bit integer. */
export function createSeededRandom(seed: number): RandomGenerator {
  let [a, b, c, counter] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88 | 0, 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  const uniform = () => next() / 2 ** 32;
  const normal = () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  };
  const poisson = () => {
    let k = 0;
    for (let product = uniform(); product > 1 / Math.E; product *= uniform()) k++;
    return k;
  };
  return { uniform, normal, poisson };
}

/** The part of a transformation matrix that turns and mirrors: [a, b, c, d] (ISO/IEC 14496-12, 6.2.2). */
export type DisplayMatrix = readonly [a: number, b: number, c: number, d: number]

export const UPRIGHT: DisplayMatrix = [1, 0, 0, 1]
const FIXED_POINT = 0x1_0000

/** Reads the nine numbers at an offset. A matrix of zeros, as careless writers leave it, is {@link UPRIGHT}. */
export function readMatrix(bytes: Buffer, at: number): DisplayMatrix {
  const [a, b, c, d] = [0, 4, 12, 16].map((offset) => bytes.readInt32BE(at + offset) / FIXED_POINT) as [
    number,
    number,
    number,
    number,
  ]
  return a * d - b * c === 0 ? UPRIGHT : [a, b, c, d]
}

/** The first matrix, then the second. */
export function multiplyMatrix([a, b, c, d]: DisplayMatrix, [e, f, g, h]: DisplayMatrix): DisplayMatrix {
  return [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h]
}

/** Degrees that a player turns the picture clockwise, to the nearest degree from 0 to 359. */
export function rotationOf([a, b]: DisplayMatrix): number {
  return (Math.round((Math.atan2(b, a) * 180) / Math.PI) + 360) % 360
}

/** Whether a player mirrors the picture. */
export function isMirrored([a, b, c, d]: DisplayMatrix): boolean {
  return a * d - b * c < 0
}

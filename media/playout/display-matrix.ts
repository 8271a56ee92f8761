/** The part of a transformation matrix that rotates and mirrors: [a, b, c, d] (ISO/IEC 14496-12, 6.2.2). */
export type DisplayMatrix = readonly [a: number, b: number, c: number, d: number]

export const IDENTITY: DisplayMatrix = [1, 0, 0, 1]
const FIXED_POINT = 0x1_0000

/** Reads a matrix of nine numbers. A matrix of zeros, which some writers leave, is {@link IDENTITY}. */
export function readMatrix(bytes: Buffer, at: number): DisplayMatrix {
  const [a, b, c, d] = [0, 4, 12, 16].map((offset) => bytes.readInt32BE(at + offset) / FIXED_POINT) as [
    number,
    number,
    number,
    number,
  ]
  return a * d - b * c === 0 ? IDENTITY : [a, b, c, d]
}

/** Applies the first matrix, then the second. */
export function multiplyMatrix([a, b, c, d]: DisplayMatrix, [e, f, g, h]: DisplayMatrix): DisplayMatrix {
  return [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h]
}

/** Clockwise rotation by the player in whole degrees, from 0 to 359. */
export function rotationOf([a, b]: DisplayMatrix): number {
  return (Math.round((Math.atan2(b, a) * 180) / Math.PI) + 360) % 360
}

/** Whether a player mirrors the picture. */
export function isMirrored([a, b, c, d]: DisplayMatrix): boolean {
  return a * d - b * c < 0
}

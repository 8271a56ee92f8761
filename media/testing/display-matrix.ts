import { readFile, writeFile } from 'node:fs/promises'

/** Byte offsets of a, b, c and d in a matrix. */
const OFFSETS = [0, 4, 12, 16]

/**
 * Sets the display matrix of the first track of an MP4 file. ffmpeg is not used, because its options differ by version.
 *
 * @param matrix a, b, c, d: [0, 1, -1, 0] rotates clockwise by 90°
 */
export async function writeMatrix(path: string, matrix: readonly number[]): Promise<void> {
  const bytes = await readFile(path)
  // In `tkhd` version 0, the matrix follows the type and 40 bytes (ISO/IEC 14496-12, 8.3.2).
  const at = bytes.indexOf('tkhd') + 4 + 40
  for (const [index, value] of matrix.entries()) bytes.writeInt32BE(value * 0x1_0000, at + OFFSETS[index]!)
  await writeFile(path, bytes)
}

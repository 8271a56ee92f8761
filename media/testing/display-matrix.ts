import { readFile, writeFile } from 'node:fs/promises'

/** Where a, b, c and d stand among the nine numbers of a matrix. */
const PLACES = [0, 4, 12, 16]

/**
 * Sets the display matrix of the first track of an MP4 file. Versions of ffmpeg differ in how they are told to.
 * @param matrix a, b, c, d: [0, 1, -1, 0] turns the picture clockwise by 90°
 */
export async function writeMatrix(path: string, matrix: readonly number[]): Promise<void> {
  const bytes = await readFile(path)
  // The type, then 40 bytes of a `tkhd` of version 0 (ISO/IEC 14496-12, 8.3.2).
  const at = bytes.indexOf('tkhd') + 4 + 40
  for (const [index, value] of matrix.entries()) bytes.writeInt32BE(value * 0x1_0000, at + PLACES[index]!)
  await writeFile(path, bytes)
}

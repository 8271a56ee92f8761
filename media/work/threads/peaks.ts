import { open } from 'node:fs/promises'

/** Runs in a thread. */

export interface PeaksInput {
  /** Unsigned 8-bit samples of one channel. */
  readonly path: string
  readonly parts: number
}

const CHUNK_BYTES = 2 ** 20
const SILENCE = 128

/** The peak level of each of `parts` equal parts, 0 to 1. Reads in chunks, because an hour has 29 MB of samples. */
export async function peaks({ path, parts }: PeaksInput): Promise<number[]> {
  const levels = new Uint8Array(parts)
  await using file = await open(path)
  const { size } = await file.stat()
  const chunk = Buffer.alloc(CHUNK_BYTES)
  for (let position = 0; position < size;) {
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) break
    for (let index = 0; index < bytesRead; index += 1) {
      const part = Math.min(parts - 1, Math.floor(((position + index) * parts) / size))
      const level = Math.abs((chunk[index] ?? SILENCE) - SILENCE)
      if (level > (levels[part] ?? 0)) levels[part] = level
    }
    position += bytesRead
  }
  return [...levels].map((level) => Math.round((Math.min(level, 127) / 127) * 1000) / 1000)
}

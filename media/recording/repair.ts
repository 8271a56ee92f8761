import { open } from 'node:fs/promises'
import { boxHeader } from '../playout/boxes.ts'
import { openMovie } from '../playout/movie.ts'
import { durationPatches } from './fmp4.ts'

export interface RepairedRecording {
  readonly bytes: number
  readonly seconds: number
}

/** Enough for the initialization segment. */
const MAX_INIT_BYTES = 16_384

/**
 * Repairs a recording whose process was killed: removes the incomplete last fragment and writes the duration. A complete
 * recording does not change.
 *
 * @returns undefined when the file has no complete fragment
 */
export async function repairRecording(path: string): Promise<RepairedRecording | undefined> {
  const handle = await open(path, 'r+')
  try {
    const { size } = await handle.stat()
    const header = Buffer.alloc(16)
    let completeBytes = 0
    let fragments = 0
    for (let at = 0; at + 8 <= size;) {
      await handle.read(header, 0, 16, at)
      const box = boxHeader(header, 0)
      if (box.size < 8 || at + box.size > size) break
      at += box.size
      // A `moof` without its `mdat` is not a complete fragment.
      if (box.type === 'moof') continue
      if (box.type === 'mdat') fragments += 1
      completeBytes = at
    }
    if (fragments === 0) return undefined
    if (completeBytes < size) await handle.truncate(completeBytes)
    const { audio, video } = await openMovie(path)
    const seconds = Math.max(...[audio, video].map((track) => (track === undefined ? 0 : track.end / track.timescale)))
    const init = Buffer.alloc(Math.min(MAX_INIT_BYTES, completeBytes))
    await handle.read(init, 0, init.length, 0)
    for (const { bytes, position } of durationPatches(init, Math.round(seconds * 1_000))) {
      await handle.write(bytes, 0, bytes.length, position)
    }
    await handle.datasync()
    return { bytes: completeBytes, seconds }
  } finally {
    await handle.close()
  }
}

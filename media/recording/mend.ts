import { open } from 'node:fs/promises'
import { boxHeader } from '../playout/boxes.ts'
import { openMovie } from '../playout/movie.ts'
import { durationPatches } from './fmp4.ts'

export interface MendedRecording {
  readonly bytes: number
  readonly seconds: number
}

const HEAD_BYTES = 16_384

/**
 * Makes a recording whole whose process was killed: cuts off the fragment that it was writing and says how long the
 * rest is. One that was ended in good order stays as it is.
 * @returns undefined when there is nothing in it
 */
export async function mendRecording(path: string): Promise<MendedRecording | undefined> {
  const handle = await open(path, 'r+')
  try {
    const { size } = await handle.stat()
    const header = Buffer.alloc(16)
    let whole = 0
    let fragments = 0
    for (let at = 0; at + 8 <= size;) {
      await handle.read(header, 0, 16, at)
      const box = boxHeader(header, 0)
      if (box.size < 8 || at + box.size > size) break
      at += box.size
      // Headers without their media are no fragment.
      if (box.type === 'moof') continue
      if (box.type === 'mdat') fragments += 1
      whole = at
    }
    if (fragments === 0) return undefined
    if (whole < size) await handle.truncate(whole)
    const { audio, video } = await openMovie(path)
    const seconds = Math.max(...[audio, video].map((track) => (track === undefined ? 0 : track.end / track.timescale)))
    const head = Buffer.alloc(Math.min(HEAD_BYTES, whole))
    await handle.read(head, 0, head.length, 0)
    for (const { bytes, position } of durationPatches(head, Math.round(seconds * 1_000))) {
      await handle.write(bytes, 0, bytes.length, position)
    }
    await handle.datasync()
    return { bytes: whole, seconds }
  } finally {
    await handle.close()
  }
}

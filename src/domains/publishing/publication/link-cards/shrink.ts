import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../../../../core/clock.ts'
import type { Foundation } from '../../../../foundation.ts'
import type { Shrink } from './link-pages.ts'

/** Cards are at most 1,200 pixels wide at all platforms. The smaller ones are for limits of bytes. */
const EDGES = [1_200, 800, 400, 200]
const TIMEOUT_MS = 10 * SECOND

/** Makes pictures of cards in the processes for media, which also judge whether a file is a picture. */
export function shrinkWith({ mediaWork, scratch }: Pick<Foundation, 'mediaWork' | 'scratch'>): Shrink {
  return async (bytes, mostBytes, given) => {
    const late = AbortSignal.timeout(TIMEOUT_MS)
    const signal = given === undefined ? late : AbortSignal.any([given, late])
    const folder = await mkdtemp(join(scratch, 'card-'))
    try {
      const path = join(folder, 'original')
      await writeFile(path, bytes)
      const sizes = EDGES.map((edge) => ({ name: `edge-${edge}`, edge }))
      const { kind, thumbnails } = await (await mediaWork()).thumbnails(path, folder, { sizes, format: 'jpeg', signal })
      const largest = thumbnails.toSorted((a, b) => b.width - a.width).find((one) => one.bytes <= mostBytes)
      if (kind !== 'image' || largest === undefined) return undefined
      return { bytes: await readFile(largest.path), type: 'image/jpeg' }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

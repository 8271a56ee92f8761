import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import type { Foundation } from '../../../../foundation.ts'
import type { ListedContent } from '../../../../platforms/analytics.ts'
import { analyticsContent } from '../tables.ts'

/** Pictures that one reading fetches. Each is tried once: with the first reading that lists its post. */
const MAX_PICTURES = 40
const AT_ONCE = 4
const MAX_BYTES = 5_000_000
const FETCH_MS = 5_000
/** For all pictures of a reading. */
const ALL_MS = 60_000
const SIZE = { name: 'small', edge: 256 } as const

interface Needs extends Pick<Foundation, 'mediaWork' | 'scratch' | 'storage'> {
  readonly sql: Sql
  readonly clock: Clock
  readonly log: Logger
  readonly fetcher: Pick<GuardedFetcher, 'get'>
}

/** Where the small picture of a post is stored. */
export function pictureKey(workspaceId: string, pictureId: string): string {
  return `${workspaceId}/${pictureId}`
}

/** Which of some files are pictures of posts. */
export async function findContentPictures(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await analyticsContent.find(sql, { pictureId: anyOf(ids) }, { columns: ['pictureId'] })
  return rows.flatMap(({ pictureId }) => pictureId ?? [])
}

/** Small pictures of posts that were published elsewhere, for reports. Addresses of platforms stop working after days. */
export class ContentPictures {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Stores pictures of posts without a record. What fails has no picture. @returns ids of files by the platform's ids */
  async store(
    { accountId, workspaceId }: { readonly accountId: string; readonly workspaceId: string },
    listed: readonly ListedContent[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const fresh = await this.#unknown(accountId, listed)
    if (fresh.length === 0) return found
    const until = AbortSignal.any([signal, AbortSignal.timeout(ALL_MS)])
    const folder = await mkdtemp(join(this.#needs.scratch, 'pictures-'))
    try {
      const queue = [...fresh.entries()]
      const work = async () => {
        for (let next = queue.shift(); next !== undefined && !until.aborted; next = queue.shift()) {
          const [index, { id, url }] = next
          const pictureId = await this.#storeOne(workspaceId, url, join(folder, String(index)), until)
          if (pictureId !== undefined) found.set(id, pictureId)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    return found
  }

  /** The newest posts with a picture that have no record yet. */
  async #unknown(accountId: string, listed: readonly ListedContent[]): Promise<{ id: string; url: string }[]> {
    const withPicture = listed.flatMap(({ pictureUrl, post }) =>
      pictureUrl == null ? [] : [{ id: post.id, url: pictureUrl }],
    )
    if (withPicture.length === 0) return []
    const rows = await analyticsContent.find(
      this.#needs.sql,
      { accountId, remoteId: anyOf(withPicture.map(({ id }) => id)) },
      { columns: ['remoteId'] },
    )
    const known = new Set(rows.map(({ remoteId }) => remoteId))
    return withPicture.filter(({ id }) => !known.has(id)).slice(0, MAX_PICTURES)
  }

  async #storeOne(workspaceId: string, url: string, folder: string, signal: AbortSignal): Promise<string | undefined> {
    const { clock, fetcher, log, mediaWork, storage } = this.#needs
    try {
      const { bytes, complete, contentType, status } = await fetcher.get(url, {
        maxBytes: MAX_BYTES,
        timeoutMs: FETCH_MS,
        signal,
      })
      if (status !== 200 || !complete || !/^image\/(jpeg|png|webp|gif|avif)\b/i.test(contentType)) return undefined
      await mkdir(folder)
      const path = join(folder, 'original')
      await writeFile(path, bytes)
      const { thumbnails } = await (await mediaWork()).thumbnails(path, folder, { sizes: [SIZE], signal })
      const [small] = thumbnails
      if (small === undefined) return undefined
      const pictureId = uuidv7(clock.now())
      const options = { type: 'image/webp', size: small.bytes }
      await storage.put(pictureKey(workspaceId, pictureId), createReadStream(small.path), options)
      return pictureId
    } catch (error) {
      // The figures matter more, and a report shows the post without it.
      log.debug({ error }, 'a picture of a post could not be stored')
      return undefined
    }
  }
}

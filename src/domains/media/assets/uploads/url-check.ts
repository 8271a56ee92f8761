import { ACCEPTED, canonicalType } from '../../../../content/types.ts'
import { HEAD_BYTES, inspectHead } from '../../../../content/inspect.ts'
import { AppError } from '../../../../core/error.ts'
import type { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { MEDIA_PLATFORMS, PLATFORM_MEDIA, refusals } from '../../../../platforms/media-rules.ts'

const TIMEOUT_MS = 15_000

/** Looks at a media URL before a post relies on it: from outside, as a platform would. */
export class UrlCheck {
  readonly #fetcher: GuardedFetcher

  constructor(fetcher: GuardedFetcher) {
    this.#fetcher = fetcher
  }

  /** A URL that is refused or does not answer is an answer, not an error. */
  async check(url: string, platforms: readonly string[] = MEDIA_PLATFORMS) {
    const nothing = { type: null, kind: null, size: null, width: null, height: null, platforms: [] }
    try {
      const found = await this.#fetcher.get(url, { maxBytes: HEAD_BYTES, timeoutMs: TIMEOUT_MS })
      const { size, status: httpStatus } = found
      const answered = { url: found.url, httpStatus, size: size ?? null }
      if (httpStatus !== 200 && httpStatus !== 206) {
        return { ...nothing, ...answered, reachable: false, error: `The server answered ${httpStatus}.`, code: null }
      }
      try {
        const { height, kind, type, width } = await inspectHead(found.bytes, '')
        return {
          ...answered,
          reachable: true,
          error: mismatch(found.contentType, type),
          code: null,
          type,
          kind,
          width,
          height,
          platforms: platforms.map((platform) => {
            const { seen = '', source = '' } = PLATFORM_MEDIA[platform] ?? {}
            const why = refusals(platform, { kind, type, size })
            return { platform, accepted: why.length === 0, refusals: why, source, seen }
          }),
        }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { ...nothing, ...answered, reachable: true, error: error.message, code: error.code }
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ...nothing, url, httpStatus: null, reachable: false, error: error.message, code: error.code }
    }
  }
}

/** Platforms go by the header, browsers by the content. */
function mismatch(header: string, type: string): string | null {
  const said = canonicalType(header)
  if (said === type) return null
  return `The server calls the file ${said || 'nothing'}, but it is a ${ACCEPTED[type]?.title ?? type}.`
}

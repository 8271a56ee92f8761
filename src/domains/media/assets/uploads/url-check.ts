import { ACCEPTED, canonicalType } from '../../../../content/types.ts'
import { HEAD_BYTES, inspectHead } from '../../../../content/inspect.ts'
import { AppError } from '../../../../core/error.ts'
import type { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { MEDIA_PLATFORMS, PLATFORM_MEDIA, refusals } from '../../../../platforms/media-rules.ts'

const TIMEOUT_MS = 15_000

/** Checks a media URL before a post uses it. Fetches it as a platform would: only from public addresses. */
export class UrlCheck {
  readonly #fetcher: GuardedFetcher

  constructor(fetcher: GuardedFetcher) {
    this.#fetcher = fetcher
  }

  /** Returns a result even if the URL is refused or does not answer. */
  async check(url: string, platforms: readonly string[] = MEDIA_PLATFORMS) {
    const empty = { type: null, kind: null, size: null, width: null, height: null, platforms: [] }
    try {
      const found = await this.#fetcher.get(url, { maxBytes: HEAD_BYTES, timeoutMs: TIMEOUT_MS })
      const { size, status: httpStatus } = found
      const response = { url: found.url, httpStatus, size: size ?? null }
      if (httpStatus !== 200 && httpStatus !== 206) {
        return { ...empty, ...response, reachable: false, error: `The server answered ${httpStatus}.`, code: null }
      }
      try {
        const { height, kind, type, width } = await inspectHead(found.bytes, '')
        return {
          ...response,
          reachable: true,
          error: mismatch(found.contentType, type),
          code: null,
          type,
          kind,
          width,
          height,
          platforms: platforms.map((platform) => {
            const { seen = '', source = '' } = PLATFORM_MEDIA[platform] ?? {}
            const reasons = refusals(platform, { kind, type, size })
            return { platform, accepted: reasons.length === 0, refusals: reasons, source, seen }
          }),
        }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { ...empty, ...response, reachable: true, error: error.message, code: error.code }
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ...empty, url, httpStatus: null, reachable: false, error: error.message, code: error.code }
    }
  }
}

/** Platforms rely on the header, so its type must match the content. */
function mismatch(header: string, type: string): string | null {
  const sentType = canonicalType(header)
  if (sentType === type) return null
  return `The Content-Type header is ${sentType || 'missing'}, but the file is a ${ACCEPTED[type]?.title ?? type}.`
}

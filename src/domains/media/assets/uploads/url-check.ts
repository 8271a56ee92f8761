import { ACCEPTED, canonicalType } from '../../../../content/types.ts'
import { HEAD_BYTES, inspectHead } from '../../../../content/inspect.ts'
import { AppError } from '../../../../core/error.ts'
import type { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { namedPlatforms } from '../../../../platforms/named-platforms.ts'
import type { Platform } from '../../../../platforms/platform.ts'
import { PLATFORMS } from '../../../../platforms/registry.ts'
import { checkFile, type LooseFile } from '../../../../platforms/rules/check-file.ts'
import type { Limits } from '../../../../platforms/rules/limits.ts'

const TIMEOUT_MS = 15_000

/** Checks a media URL before a post uses it. Fetches it as a platform would: only from public addresses. */
export class UrlCheck {
  readonly #fetcher: GuardedFetcher
  readonly #limitsOf: (platform: Platform) => Limits

  /** @param limitsOf the limits of a platform on this server */
  constructor(fetcher: GuardedFetcher, limitsOf: (platform: Platform) => Limits) {
    this.#fetcher = fetcher
    this.#limitsOf = limitsOf
  }

  /**
   * Returns a result even if the URL is refused or does not answer.
   * @param keys the platforms; all when absent
   * @throws AppError validation_failed for an unknown platform
   */
  async check(url: string, keys?: readonly string[]) {
    const platforms = keys === undefined ? PLATFORMS : namedPlatforms(keys, '/body/platforms')
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
        const sides = { ...(width !== null && { width }), ...(height !== null && { height }) }
        const file = { kind, type, name: nameOf(found.url), bytes: size, ...sides }
        return {
          ...response,
          reachable: true,
          error: mismatch(found.contentType, type),
          code: null,
          type,
          kind,
          width,
          height,
          platforms: platforms.map((platform) => this.#verdict(platform, file)),
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

  #verdict(platform: Platform, file: LooseFile) {
    const { refusals, source, adjustments } = checkFile(platform, this.#limitsOf(platform), file)
    const { seen, title } = source
    return { platform: platform.key, accepted: refusals.length === 0, refusals, adjustments, source: title, seen }
  }
}

/** The name of the file in an address, for messages. */
function nameOf(url: string): string {
  const { hostname, pathname } = new URL(url)
  return pathname.split('/').at(-1) || hostname
}

/** Platforms rely on the header, so its type must match the content. */
function mismatch(header: string, type: string): string | null {
  const sentType = canonicalType(header)
  if (sentType === type) return null
  return `The Content-Type header is ${sentType || 'missing'}, but the file is a ${ACCEPTED[type]?.title ?? type}.`
}

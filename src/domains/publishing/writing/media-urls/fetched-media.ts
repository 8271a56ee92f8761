import { MINUTE } from '../../../../core/clock.ts'
import { AppError, type FieldError } from '../../../../core/error.ts'
import { Forbidden, ValidationFailed } from '../../../../core/errors.ts'
import type { Member } from '../../../../core/caller.ts'
import { urlsIn, withAssets, type WithMedia } from './urls-in.ts'
import type { PostFile, UrlCheck, UrlImports } from '../../../media/assets/index.ts'

/** How many files a request can name by their addresses. */
export const MAX_URLS = 200
/** How many are fetched at the same time, and how long all of them may take. */
const AT_ONCE = 4
const TIMEOUT_MS = 5 * MINUTE

/** What became of an address: the asset, or why there is none. */
export type Fetched =
  | { readonly assetId: string; readonly file?: PostFile }
  | { readonly code: string; readonly message: string }

/** By address. Plain JSON, because a turn may run on another node. */
export type FetchedMedia = Readonly<Record<string, Fetched>>

export const NO_MEDIA: FetchedMedia = {}

/** Brings files that requests name by their addresses into the media library. */
export class MediaFetcher {
  readonly #imports: UrlImports
  readonly #check: UrlCheck

  constructor(imports: UrlImports, check: UrlCheck) {
    this.#imports = imports
    this.#check = check
  }

  /**
   * Adds the files of addresses as assets. An address that cannot be used has a reason in the result.
   * @param dryRun adds nothing: looks at the beginning of each file, and makes up an asset
   * @throws AppError forbidden, validation_failed
   */
  async resolve(
    urls: readonly string[],
    { dryRun = false, member }: { readonly member: Member; readonly dryRun?: boolean },
  ): Promise<FetchedMedia> {
    const all = [...new Set(urls)]
    if (all.length === 0) return NO_MEDIA
    if (!member.scopes.has('media:write')) {
      throw Forbidden({ message: 'Files by URL are added to the media library, which needs the scope media:write.' })
    }
    if (all.length > MAX_URLS) {
      const message = `names ${all.length} URLs. At most ${MAX_URLS} files can be fetched at once`
      throw ValidationFailed({ errors: [{ path: '/body/media', code: 'too_many', message }] })
    }
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const found: Record<string, Fetched> = {}
    const waiting = all.values()
    const work = async () => {
      for (const url of waiting) {
        found[url] = dryRun ? await this.#looked(url) : await this.#added(url, member, signal)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return found
  }

  async #added(url: string, { userId, workspaceId }: Member, signal: AbortSignal): Promise<Fetched> {
    try {
      const asset = await this.#imports.add({ workspaceId, url }, userId, signal)
      return { assetId: asset._id }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { code: error.code, message: error.message }
    }
  }

  async #looked(url: string): Promise<Fetched> {
    const { code, error, height, kind, size, type, width } = await this.#check.check(url, [])
    if (type === null || kind === null) return { code: code ?? 'url_unreachable', message: error ?? 'It has no file.' }
    const sides = { ...(width !== null && { width }), ...(height !== null && { height }) }
    const assetId = crypto.randomUUID()
    const shown = kind === 'audio' ? 'document' : kind
    const media = { id: assetId, kind: shown, type, bytes: size ?? 0, name: url, ...sides }
    return { assetId, file: { media, ref: { assetId, renditionId: null }, key: '' } }
  }
}

/** The ids of the assets of addresses. */
export function assetsOf(fetched: FetchedMedia): (url: string) => string | undefined {
  return (url) => {
    const one = fetched[url]
    return one !== undefined && 'assetId' in one ? one.assetId : undefined
  }
}

/** Why a post cannot have its files. @param path of the field that names them */
export function unfetched(urls: readonly string[], fetched: FetchedMedia, path: string): FieldError[] {
  return urls.flatMap((url) => {
    const one = fetched[url]
    if (one !== undefined && 'assetId' in one) return []
    const why = one === undefined ? 'cannot be a URL here' : one.message
    return [{ path, code: one?.code ?? 'url_refused', message: `${url.slice(0, 200)}: ${why}` }]
  })
}

/** A post with the assets of its addresses. @throws AppError validation_failed if a file cannot be had */
export function withFetched<T extends WithMedia>(post: T, fetched: FetchedMedia): T {
  const urls = urlsIn(post)
  if (urls.length === 0) return post
  const errors = unfetched(urls, fetched, '/body/media')
  if (errors.length > 0) throw ValidationFailed({ errors })
  return withAssets(post, assetsOf(fetched))
}

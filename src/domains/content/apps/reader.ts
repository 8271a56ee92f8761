import { PublicContent, type Edition, type LoadedContent } from '../../../coordination/public-content.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { pageOfAll } from '../../../core/page-of-all.ts'
import { file, list, ok, serialized } from '../../../core/reply.ts'
import { contentOf } from '../../../storage/stored-file.ts'
import type { Foundation } from '../../../foundation.ts'
import { latestFor, newestFirst, type AppPlatform } from './platforms.ts'
import type { AppListQueryData } from './schemas.ts'
import { appReleases, apps, type AppReleaseRow } from './tables.ts'
import { detailsOf, summaryOf, type PublicApp } from './views.ts'

type Parts = Pick<Foundation, 'clock' | 'config' | 'coordination' | 'database' | 'storage'>
/** Listed apps by slug, newest first. */
type Catalog = ReadonlyMap<string, PublicApp>

const NO_FILE = 'There is no file for this platform. GET /api/apps/{slug} lists the files.'

/** The address of the latest version may lead to another file soon. That of a version never does. */
const CACHES = { latest: 'public, max-age=60', version: 'public, max-age=86400' } as const

/** The apps as the public sees and downloads them. */
export class AppReader {
  readonly #foundation: Parts
  readonly content: PublicContent<Catalog>

  constructor(foundation: Parts) {
    this.#foundation = foundation
    const { clock, coordination } = foundation
    this.content = new PublicContent({ name: 'apps', clock, coordination, load: () => this.#load() })
  }

  list(query: AppListQueryData) {
    const { cursor = '', limit = 30, page = 1 } = query
    return this.#cached(`list ${limit} ${page} ${cursor}`, (catalog) => {
      const all = [...catalog.values()].map((app) => summaryOf(app, this.#foundation.config.PUBLIC_URL))
      return list(
        'Apps',
        pageOfAll(all, query, ({ _id: id, createdAt }) => ({ createdAt, id })),
      ).body
    })
  }

  /** @throws AppError not_found, also for an app that is not listed */
  get(slug: string) {
    return this.#cached(
      `app ${slug}`,
      (catalog) => ok('App', detailsOf(found(catalog, slug), this.#foundation.config.PUBLIC_URL)).body,
    )
  }

  /** The file of the newest version. @throws AppError not_found; validation_failed if the platform must be named */
  async downloadLatest(slug: string, platform: AppPlatform | undefined) {
    const { releases } = found((await this.content.read()).value, slug)
    const wanted = platform ?? onlyPlatform(releases)
    return this.#file(latestFor(releases, wanted), CACHES.latest)
  }

  /** The file of a version. @throws AppError not_found; validation_failed if the platform must be named */
  async download(slug: string, version: string, platform: AppPlatform | undefined) {
    const app = found((await this.content.read()).value, slug)
    const releases = app.releases.filter((release) => release.version === version)
    if (releases.length === 0) throw NotFound()
    return this.#file(latestFor(releases, platform ?? onlyPlatform(releases)), CACHES.version)
  }

  async #file(release: AppReleaseRow | undefined, cache: string) {
    const { storage } = this.#foundation
    if (release === undefined) throw NotFound({ message: NO_FILE })
    const key = `${release.appId}/${release.id}`
    if ((await storage.stat(key)) === undefined) throw NotFound()
    const sent = file({
      contentType: 'application/octet-stream',
      size: release.size,
      etag: release.sha256,
      name: release.fileName,
      disposition: 'attachment',
      modifiedAt: release.createdAt,
      cache,
      open: contentOf(storage, key),
    })
    return { ...sent, headers: checksums(release.sha256) }
  }

  #cached<B extends object>(key: string, make: (catalog: Catalog) => B) {
    const answer = (edition: Edition<Catalog>) =>
      serialized<B>(edition.kept(key) ?? edition.keep(key, make(edition.value)))
    const edition = this.content.read()
    return edition instanceof Promise ? edition.then(answer) : answer(edition)
  }

  async #load(): Promise<LoadedContent<Catalog>> {
    const { clock, database } = this.#foundation
    const now = clock.now()
    const rows = await apps.find(database, { listed: true }, { orderBy: ['createdAt desc', 'id desc'] })
    const releases = await appReleases.find(database, {})
    const due = Map.groupBy(
      releases.filter(({ publishedAt }) => Date.parse(publishedAt) <= now),
      ({ appId }) => appId,
    )
    const later = releases.map(({ publishedAt }) => Date.parse(publishedAt)).filter((at) => at > now)
    const value = new Map(rows.map((row) => [row.slug, { row, releases: due.get(row.id) ?? [] }]))
    return { value, until: later.length === 0 ? undefined : later.reduce((first, at) => Math.min(first, at)) }
  }
}

/** SHA-256 of the whole file, also when a range is sent (RFC 9530), and as `sha256sum` prints it. */
function checksums(sha256: string) {
  return { 'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`, 'X-Checksum-Sha256': sha256 }
}

function found(catalog: Catalog, slug: string): PublicApp {
  const app = catalog.get(slug)
  if (app === undefined) throw NotFound()
  return app
}

/** The platform of all releases. @throws AppError validation_failed if there are several; not_found if there is none */
function onlyPlatform(releases: readonly AppReleaseRow[]): AppPlatform {
  const [first, ...others] = new Set(newestFirst(releases).map(({ platform }) => platform))
  if (first === undefined) throw NotFound()
  if (others.length === 0) return first
  const message = `is required, because there are files for several platforms: ${[first, ...others].join(', ')}`
  throw ValidationFailed({ errors: [{ path: '/query/platform', code: 'required', message }] })
}

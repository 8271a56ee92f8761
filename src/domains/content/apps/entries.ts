import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Upload } from '../../../core/upload.ts'
import { anyOf } from '../../../db/condition.ts'
import type { Transaction } from '../../../db/database.ts'
import { increment } from '../../../db/increment.ts'
import { isUniqueViolation } from '../../../db/prepared-sql.ts'
import type { Foundation } from '../../../foundation.ts'
import type { AppChangesData, AppEntryData, AppReleaseData, NewAppData, NewReleaseData } from './schemas.ts'
import { appReleases, apps, type AppRow } from './tables.ts'
import { entryOf, releaseView } from './views.ts'

type Parts = Pick<Foundation, 'clock' | 'config' | 'database' | 'storage'>

/** The apps as administrators edit them, with their files. */
export class AppEntries {
  readonly #foundation: Parts
  readonly #changed: () => void

  /** @param changed is called after the commit of a change */
  constructor(foundation: Parts, changed: () => void) {
    this.#foundation = foundation
    this.#changed = changed
  }

  async list(query: { limit?: number; cursor?: string }): Promise<PageResult<AppEntryData>> {
    const { config, database } = this.#foundation
    const page = pageRequest(query)
    const rows = await apps.page(database, {}, page)
    const releases = await appReleases.find(database, { appId: anyOf(rows.map(({ id }) => id)) })
    const byApp = Map.groupBy(releases, ({ appId }) => appId)
    return pageOf(
      rows,
      page.limit,
      (row) => row,
      (row) => entryOf(row, byApp.get(row.id) ?? [], config.PUBLIC_URL),
    )
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<AppEntryData> {
    const { database } = this.#foundation
    return this.#view(database, await this.#row(database, id))
  }

  /** @throws AppError conflict if the slug is taken */
  async create({ listed = true, description = '', iconUrl = null, name, slug }: NewAppData): Promise<AppEntryData> {
    const { clock, database } = this.#foundation
    const now = new Date(clock.now())
    const id = uuidv7(now.getTime())
    await apps
      .insert(database, { id, slug, name, description, iconUrl, listed, createdAt: now, updatedAt: now })
      .catch(slugTaken)
    this.#changed()
    return this.get(id)
  }

  /** @throws AppError not_found, precondition_failed, conflict if the slug is taken */
  async update(id: string, changes: AppChangesData, ifMatch: IfMatch): Promise<AppEntryData> {
    const entry = await this.#foundation.database
      .transaction(async (tx) => this.#view(tx, await this.#touch(tx, id, ifMatch, changes)))
      .catch(slugTaken)
    this.#changed()
    return entry
  }

  /** Deletes an app with all its files. @throws AppError not_found, precondition_failed */
  async delete(id: string, ifMatch: IfMatch): Promise<void> {
    const { database } = this.#foundation
    const releases = await database.transaction(async (tx) => {
      requireVersion(ifMatch, (await this.#row(tx, id, 'for update')).version)
      const deleted = await appReleases.deleteReturning(tx, { appId: id }, ['id'])
      await apps.delete(tx, { id })
      return deleted
    })
    this.#changed()
    for (const release of releases) await this.#drop(id, release.id)
  }

  /**
   * Stores the file of a version.
   * @throws AppError not_found; conflict if the version has a file for the platform; validation_failed if the checksum is
   * another one; storage_full
   */
  async addRelease(id: string, input: NewReleaseData, upload: Upload): Promise<AppReleaseData> {
    const { clock, config, database, storage } = this.#foundation
    await this.#row(database, id)
    const { releaseNotes = '', platform, publishedAt, version } = input
    const taken = await appReleases.exists(database, { appId: id, version, platform })
    if (taken) throw versionTaken(input)
    const now = new Date(clock.now())
    const releaseId = uuidv7(now.getTime())
    const hash = createHash('sha256')
    const body = Readable.from(hashed(upload.stream, hash), { objectMode: false })
    const { size } = await storage.put(`${id}/${releaseId}`, body, { type: 'application/octet-stream' })
    try {
      const sha256 = hash.digest('hex')
      requireSame(input.sha256, sha256)
      const fileName = upload.name === '' ? `${version}-${platform}` : upload.name
      const times = { publishedAt: instant(publishedAt) ?? now, createdAt: now, updatedAt: now }
      const release = { id: releaseId, appId: id, version, platform, releaseNotes, fileName, size, sha256, ...times }
      const view = await database.transaction(async (tx) => {
        const app = await this.#touch(tx, id, undefined, {})
        await appReleases.insert(tx, release)
        const [row] = await appReleases.find(tx, { id: releaseId })
        if (row === undefined) throw NotFound()
        return releaseView(row, app.slug, config.PUBLIC_URL)
      })
      this.#changed()
      return view
    } catch (error) {
      await this.#drop(id, releaseId)
      throw isUniqueViolation(error, 'app_releases_version_key') ? versionTaken(input) : error
    }
  }

  /** @throws AppError not_found */
  async deleteRelease(id: string, releaseId: string): Promise<void> {
    await this.#foundation.database.transaction(async (tx) => {
      await this.#touch(tx, id, undefined, {})
      if ((await appReleases.delete(tx, { id: releaseId, appId: id })) === 0) throw NotFound()
    })
    this.#changed()
    await this.#drop(id, releaseId)
  }

  async #view(sql: Sql, row: AppRow): Promise<AppEntryData> {
    return entryOf(row, await appReleases.find(sql, { appId: row.id }), this.#foundation.config.PUBLIC_URL)
  }

  async #row(sql: Sql, id: string, lock?: 'for update'): Promise<AppRow> {
    const row = await apps.first(sql, { id }, lock && { lock })
    if (row === undefined) throw NotFound()
    return row
  }

  /** Changes the row of an app. Its version counts changes of its releases too. */
  async #touch(tx: Transaction, id: string, ifMatch: IfMatch, changes: AppChangesData): Promise<AppRow> {
    const before = await this.#row(tx, id, 'for update')
    requireVersion(ifMatch, before.version)
    const updatedAt = new Date(this.#foundation.clock.now())
    const [after] = await apps.updateReturning(tx, { id }, { ...changes, updatedAt, version: increment() })
    return after ?? before
  }

  #drop(id: string, releaseId: string): Promise<void> {
    return this.#foundation.storage.delete(`${id}/${releaseId}`)
  }
}

/** Which of some files are files of apps. */
export async function findAppFiles(sql: Sql, ids: readonly string[]): Promise<string[]> {
  return (await appReleases.find(sql, { id: anyOf(ids) }, { columns: ['id'] })).map(({ id }) => id)
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

function requireSame(announced: string | undefined, sha256: string): void {
  if (announced === undefined || announced === sha256) return
  const message = `does not match the checksum of the received file, ${sha256}. Send the file again, or correct the checksum`
  throw ValidationFailed({ errors: [{ path: '/body/sha256', code: 'checksum', message }] })
}

function versionTaken({ platform, version }: NewReleaseData) {
  return Conflict({
    message: `Version ${version} already has a file for ${platform}. Delete it first, or send another \`version\`.`,
  })
}

function slugTaken(error: unknown): never {
  if (isUniqueViolation(error, 'apps_slug_key'))
    throw Conflict({ message: 'An app with this slug already exists. Choose another `slug`.' })
  throw error
}

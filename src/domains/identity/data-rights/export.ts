import { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import { Conflict, Overloaded } from '../../../core/errors.ts'
import type { ExportedRows, PersonalColumn, PersonalData } from '../../../core/personal-data.ts'
import { LiveBody, reply } from '../../../core/reply.ts'
import type { Memberships } from '../../../core/ports.ts'
import type { Foundation } from '../../../foundation.ts'
import { findUser, largestPictureKey } from '../users/index.ts'
import { rowsOf } from './owned-rows.ts'

/** Exports that one node makes at once. */
const MAX = 4

const INTRODUCTION = `This archive contains the data that this Crier server holds about you, in machine-readable formats.

Each file has a list of objects (JSON, UTF-8). Times are ISO 8601. Names of fields that end in _id refer to other objects. Passwords, keys and
other secrets are not in it. The folder content/ contains your profile picture, and the files that you have uploaded, named by their list and id.
Files of a workspace are included only while you are a member of it. content/missing.json lists files that are no longer stored.
`

/** Streams everything that the tables hold on a person, as a zip archive. Each table says what it holds. */
export class DataExport {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'log' | 'storage'>
  readonly #memberships: Memberships
  readonly #columns: readonly (readonly [name: string, column: PersonalColumn & { readonly export: ExportedRows }])[]
  readonly #hidden: readonly (readonly [
    name: string,
    column: PersonalColumn & { readonly export: { readonly never: string } },
  ])[]
  readonly #running = new Set<string>()

  constructor(
    foundation: Pick<Foundation, 'clock' | 'database' | 'log' | 'storage'>,
    memberships: Memberships,
    personal: PersonalData,
  ) {
    this.#foundation = foundation
    this.#memberships = memberships
    const columns = Object.entries(personal)
    this.#columns = columns.flatMap(([name, { export: rows, ...column }]) =>
      'file' in rows ? [[name, { ...column, export: rows }]] : [],
    )
    this.#hidden = columns.flatMap(([name, { export: rows, ...column }]) =>
      'never' in rows ? [[name, { ...column, export: rows }]] : [],
    )
  }

  /** @throws AppError conflict while another export of the person runs; overloaded */
  archiveOf(userId: string) {
    if (this.#running.has(userId))
      throw Conflict({
        message: 'Another export of your data is running. Wait until its download has ended, or cancel the download.',
      })
    if (this.#running.size >= MAX)
      throw Overloaded({
        message: 'Too many exports are running on this server. Try again in 30 seconds.',
        retryAfter: 30,
      })
    const archive = new ZipFile()
    const output = archive.outputStream as Readable
    this.#running.add(userId)
    output.once('close', () => this.#running.delete(userId))
    this.#fill(archive, output, userId)
    const day = new Date(this.#foundation.clock.now()).toISOString().slice(0, 10)
    const headers = { 'Content-Disposition': `attachment; filename="crier-data-${day}.zip"` }
    return reply(200, new LiveBody('application/zip', output), headers)
  }

  #fill(archive: ZipFile, output: Readable, userId: string): void {
    const mtime = new Date(this.#foundation.clock.now())
    const contents: Readable[] = []
    const fail = (error: unknown) => void output.destroy(error as Error)
    const watched = (content: Readable) => {
      contents.push(content)
      return content.once('error', fail)
    }
    const add = (name: string, chunks: AsyncIterable<string> | Iterable<string>) =>
      archive.addReadStream(watched(Readable.from(chunks, { objectMode: false })), name, { mtime })
    const addFile = (name: string, open: () => Promise<Readable>) =>
      archive.addReadStreamLazy(name, { mtime, compress: false }, (give) => {
        open().then((content) => give(null, watched(content)), fail)
      })
    output.once('close', () => {
      for (const content of contents) content.destroy()
    })
    output.once('error', (error) => this.#foundation.log.warn({ error, userId }, 'an export of personal data failed'))
    add('README.txt', [INTRODUCTION, this.#contents()])
    add('manifest.json', [JSON.stringify(this.#manifest(userId), null, 2)])
    add('profile.json', this.#profile(userId))
    for (const [name, column] of this.#columns) {
      add(`${column.export.file}.json`, jsonList(rowsOf(this.#foundation.database, name, column, userId)))
    }
    const end = async () => {
      const missing = await this.#addContents(userId, output, addFile)
      add('content/missing.json', [JSON.stringify(missing, null, 2)])
      archive.end()
    }
    end().catch(fail)
  }

  /** Adds the files that the person has uploaded. @returns the names of those that are not stored */
  async #addContents(
    userId: string,
    output: Readable,
    addFile: (name: string, open: () => Promise<Readable>) => void,
  ): Promise<string[]> {
    const { database, storage } = this.#foundation
    const missing: string[] = []
    const addStored = async (path: string, key: string) => {
      if ((await storage.stat(key)) === undefined) missing.push(path)
      // It may be deleted while the files before it are sent.
      else addFile(path, async () => (await storage.get(key)) ?? Readable.from([]))
    }
    const pictureId = (await findUser(database, userId))?.pictureId
    if (pictureId) await addStored('content/profile-picture.webp', largestPictureKey(userId, pictureId))
    for (const [name, column] of this.#columns) {
      const { content, file } = column.export
      if (content === undefined) continue
      for await (const text of rowsOf(database, name, column, userId)) {
        if (output.destroyed) return missing
        const row = JSON.parse(text) as Record<string, string>
        const workspaceId = row['workspace_id']
        if (workspaceId !== undefined && (await this.#memberships.find(workspaceId, userId)) === undefined) continue
        const path = `content/${file}/${row['id']}-${safeName(row['name'])}`
        await addStored(path, content(row))
      }
    }
    return missing
  }

  #contents(): string {
    const files = this.#columns.map(
      ([
        ,
        {
          about,
          deletion,
          export: { file },
        },
      ]) => {
        const kept = deletion === 'deleted' ? '' : ` Kept when the account is deleted: ${deletion.kept}`
        return `${file}.json: ${about}.${kept}`
      },
    )
    const hidden = this.#hidden.map(
      ([
        ,
        {
          about,
          export: { never },
        },
      ]) => `${about}: ${never}`,
    )
    const lists = [
      '',
      'Files',
      'profile.json: Your profile and settings.',
      ...files,
      '',
      'Not in the archive',
      ...hidden,
    ]
    return `${lists.join('\n')}\n`
  }

  #manifest(userId: string) {
    const files = this.#columns.map(
      ([
        ,
        {
          about,
          export: { file, omit = [] },
        },
      ]) => ({ name: `${file}.json`, about, omitted: omit }),
    )
    return { userId, exportedAt: new Date(this.#foundation.clock.now()).toISOString(), files }
  }

  async *#profile(userId: string): AsyncGenerator<string> {
    const user = await findUser(this.#foundation.database, userId)
    const {
      passwordHash: _hash,
      credentialsChangedAt: _changed,
      ...shown
    } = user ?? { passwordHash: null, credentialsChangedAt: null }
    yield JSON.stringify(shown, null, 2)
  }
}

/** A name without characters that are special in paths. */
function safeName(name = ''): string {
  return name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').slice(-100)
}

async function* jsonList(rows: AsyncIterable<string>): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const row of rows) {
    yield `${separator}${row}`
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n'
}

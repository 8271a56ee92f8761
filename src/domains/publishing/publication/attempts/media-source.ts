import type { Sql } from '../../../../core/sql.ts'
import type { PublishPart, MediaSource } from '../../../../platforms/publishing.ts'
import { storedFiles, type PostFiles } from '../../../media/assets/index.ts'

/** Gives platforms the files of posts. */
export class MediaSources {
  readonly #sql: Sql
  readonly #files: PostFiles

  constructor(sql: Sql, files: PostFiles) {
    this.#sql = sql
    this.#files = files
  }

  /** The files of some parts. They are looked up when the first one is read. */
  of(workspaceId: string, segments: readonly { readonly part: PublishPart }[]): MediaSource {
    const ids = segments.flatMap(({ part }) => part.media.map(({ id }) => id))
    let found: ReturnType<typeof storedFiles> | undefined
    const fileOf = async (id: string) => {
      found ??= storedFiles(this.#sql, workspaceId, ids)
      const file = (await found).get(id)
      if (file === undefined) throw new Error(`the file ${id} of the post is gone`)
      return file
    }
    return {
      read: async (id, start, end) => this.#files.read((await fileOf(id)).key, start, end),
      publicUrl: async (id) => this.#files.publicUrl((await fileOf(id)).ref),
    }
  }
}

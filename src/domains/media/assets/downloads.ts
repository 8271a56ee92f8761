import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { contentDisposition } from '../../../tools/content-disposition.ts'
import { NotFound } from '../../../core/errors.ts'
import { file, reply, type ByteRange } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { PLAYLIST_TYPE, PREVIEW_MEDIA_TYPE, renditionKeys, renditionsOf, type AssetRow } from './store.ts'
import type { RenditionRow } from './tables.ts'
import type { AssetViews } from './views.ts'

/** How long a signed bucket URL is valid. */
const SIGNED_SECONDS = 600
/** The line in the playlists of media work that names the file with all segments. */
const PREVIEW_MEDIA = /^media\.ts$/gm
const CACHE = 'private, max-age=0, must-revalidate'

/** File extensions by media type, where the extension is not the subtype. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  [PLAYLIST_TYPE]: 'm3u8',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'image/jpeg': 'jpg',
  [PREVIEW_MEDIA_TYPE]: 'ts',
}

interface Stored {
  readonly key: string
  readonly type: string
  readonly name: string
  readonly etag: string
  readonly disposition: 'inline' | 'attachment'
  /** Set if the file is the playlist of this preview. */
  readonly preview?: RenditionRow
}

/** Replies with the files of the media library: the bytes, or a redirect to the bucket. */
export class AssetDownloads {
  readonly #sql: Sql
  readonly #storage: Storage
  readonly #views: AssetViews

  constructor(sql: Sql, storage: Storage, views: AssetViews) {
    this.#sql = sql
    this.#storage = storage
    this.#views = views
  }

  /**
   * The file of an asset, a thumbnail or a rendition.
   * @param variant `thumbnail-<name>`, or the id of a rendition. For a preview, the id gives the playlist, and
   *   `<id>.ts` gives the segments.
   * @throws AppError not_found
   */
  async file(row: AssetRow, variant: string | undefined) {
    const found = await this.#find(row, variant)
    const { disposition, etag, key, name, preview, type } = found
    if (preview !== undefined) return this.#playlist(found, preview)
    const signed = await this.#storage.signedGet(key, {
      type,
      disposition: contentDisposition(disposition, name),
      expiresInSeconds: SIGNED_SECONDS,
    })
    if (signed !== undefined) return reply(302, undefined, { Location: signed, 'Cache-Control': 'private, no-store' })
    const stored = await this.#storage.stat(key)
    if (stored === undefined) throw fileMissing()
    const { modifiedAt, size } = stored
    const open = async (range: ByteRange | undefined) => {
      const content = await this.#storage.blocks(key, range)
      if (content === undefined) throw fileMissing()
      return content
    }
    return file({ contentType: type, size, etag, name, disposition, modifiedAt, cache: CACHE, open })
  }

  /** Players fetch the URLs of a playlist without credentials, so each segment gets a signed URL. */
  async #playlist({ disposition, key, name, type }: Stored, preview: RenditionRow) {
    const stored = await this.#storage.get(key)
    if (stored === undefined) throw fileMissing()
    const link = this.#views.previewMedia(preview)
    const content = Buffer.from((await text(stored)).replace(PREVIEW_MEDIA, () => link))
    const etag = createHash('sha256').update(content).digest('hex').slice(0, 32)
    const open = async function* (range: ByteRange | undefined) {
      yield range === undefined ? content : content.subarray(range.start, range.end + 1)
    }
    const [contentType, size] = [type, content.length]
    return file({ contentType, size, etag, name, disposition, cache: CACHE, open: async (range) => open(range) })
  }

  async #find(row: AssetRow, variant: string | undefined): Promise<Stored> {
    const key = fileKey(row.workspaceId, row.fileId)
    if (variant === undefined) {
      const disposition = row.type === 'image/svg+xml' ? 'attachment' : 'inline'
      return { key, type: row.type, name: row.name, etag: row.sha256.slice(0, 32), disposition }
    }
    const thumbnail = row.thumbnails.find((one) => variant === `thumbnail-${one.name}`)
    if (thumbnail) {
      const name = `${row.name}.${thumbnail.name}.webp`
      const etag = `${row.fileId}.${thumbnail.name}`
      return { key: `${key}.${variant}`, type: 'image/webp', name, etag, disposition: 'inline' }
    }
    const [id, part] = variant.split('.', 2)
    const rendition = (await renditionsOf(this.#sql, row.id)).find((one) => one.id === id)
    if (rendition?.type && rendition.state === 'ready') {
      const { type, workspaceId } = rendition
      const nameFor = (mediaType: string) => {
        const extension = EXTENSIONS[mediaType] ?? mediaType.split('/')[1] ?? 'bin'
        return `${row.name.replace(/\.\w{1,5}$/, '')}.${rendition.name}.${extension}`
      }
      const [media, playlist] = renditionKeys(workspaceId, rendition.id, type)
      const shared = { etag: rendition.id, disposition: 'inline' } as const
      if (playlist !== undefined && part === undefined) {
        return { ...shared, key: playlist, type, name: nameFor(type), preview: rendition }
      }
      const mediaType = playlist === undefined ? type : PREVIEW_MEDIA_TYPE
      if (part === (playlist === undefined ? undefined : 'ts')) {
        return { ...shared, key: media, type: mediaType, name: nameFor(mediaType) }
      }
    }
    throw NotFound({ message: 'The asset has no thumbnail or rendition with this name or id.' })
  }
}

function fileMissing() {
  return NotFound({ message: 'The file is not stored yet, or has been deleted.' })
}

import type { SignedLinks } from '../../../core/signed-links.ts'
import type { AssetData, RenditionData, ThumbnailData } from './schemas.ts'
import type { AssetRow, RenditionRow } from './store.ts'

/** What the API shows of assets. Files have two URLs: one that needs a credential, and one that carries it. */
export class AssetViews {
  readonly #links: SignedLinks

  constructor(links: SignedLinks) {
    this.#links = links
  }

  asset(row: AssetRow): AssetData {
    return {
      _id: row.id,
      workspaceId: row.workspace_id,
      name: row.name,
      altText: row.alt_text,
      tags: row.tags,
      folderId: row.folder_id,
      kind: row.kind,
      type: row.type,
      size: row.size,
      checksum: row.sha256,
      width: row.width,
      height: row.height,
      duration: row.seconds,
      codecs: { video: row.video_codec, audio: row.audio_codec },
      ...this.#urls(row.id),
      signedUntil: new Date(this.#links.until).toISOString(),
      thumbnail: this.thumbnail(row),
      createdBy: row.uploaded_by,
      deletedAt: row.deleted_at,
      version: row.version,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }
  }

  thumbnail(row: AssetRow): ThumbnailData {
    return {
      status: row.thumbnail_state,
      error: row.thumbnail_error,
      blurhash: row.blurhash,
      images: row.thumbnails.map(({ height, name, width }) => ({
        name,
        ...this.#urls(row.id, `thumbnail-${name}`),
        width,
        height,
      })),
    }
  }

  rendition(row: RenditionRow): RenditionData {
    const urls = row.state === 'ready' ? this.#urls(row.asset_id, row.id) : { url: null, signedUrl: null }
    return {
      _id: row.id,
      assetId: row.asset_id,
      name: row.name,
      status: row.state,
      progress: row.progress,
      error: row.error,
      jobId: row.job_id,
      ...urls,
      type: row.type,
      size: row.size,
      width: row.width,
      height: row.height,
      duration: row.seconds,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }
  }

  /** URL of a preview's medium, relative to its playlist; good for as long as somebody watches it. */
  previewMedia(row: RenditionRow): string {
    const base = `/api/assets/${row.asset_id}/`
    return this.#links.sign(`${base}file?variant=${row.id}.ts`, (row.seconds ?? 0) * 2_000).slice(base.length)
  }

  #urls(id: string, variant?: string): { url: string; signedUrl: string } {
    const url = `/api/assets/${id}/file${variant === undefined ? '' : `?variant=${variant}`}`
    return { url, signedUrl: this.#links.sign(url) }
  }
}

import type { SignedLinks } from '../../../core/signed-links.ts'
import type { AssetData, RenditionData, ThumbnailData } from './schemas.ts'
import type { AssetRow } from './store.ts'
import type { RenditionRow } from './tables.ts'

/** Assets and renditions as the API shows them. A file has two URLs: a plain one and a signed one. */
export class AssetViews {
  readonly #links: SignedLinks

  constructor(links: SignedLinks) {
    this.#links = links
  }

  asset(row: AssetRow): AssetData {
    return {
      _id: row.id,
      workspaceId: row.workspaceId,
      name: row.name,
      altText: row.altText,
      altTextOrigin: row.altTextOrigin,
      tags: row.tags,
      folderId: row.folderId,
      kind: row.kind,
      type: row.type,
      size: row.size,
      checksum: row.sha256,
      width: row.width,
      height: row.height,
      duration: row.seconds,
      codecs: { video: row.videoCodec, audio: row.audioCodec },
      ...this.#urls(row.id),
      signedUntil: new Date(this.#links.until).toISOString(),
      thumbnail: this.thumbnail(row),
      createdBy: row.uploadedBy,
      deletedAt: row.deletedAt,
      version: row.version,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
    }
  }

  thumbnail(row: AssetRow): ThumbnailData {
    return {
      status: row.thumbnailState,
      error: row.thumbnailError,
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
    const urls = row.state === 'ready' ? this.#urls(row.assetId, row.id) : { url: null, signedUrl: null }
    return {
      _id: row.id,
      assetId: row.assetId,
      name: row.name,
      status: row.state,
      progress: row.progress,
      error: row.error,
      jobId: row.jobId,
      ...urls,
      type: row.type,
      size: row.size,
      width: row.width,
      height: row.height,
      duration: row.seconds,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
    }
  }

  /** URL of the segments of a preview, relative to its playlist. It is valid for twice the length of the video. */
  previewMedia(row: RenditionRow): string {
    const base = `/api/assets/${row.assetId}/`
    return this.#links.sign(`${base}file?variant=${row.id}.ts`, (row.seconds ?? 0) * 2_000).slice(base.length)
  }

  #urls(id: string, variant?: string): { url: string; signedUrl: string } {
    const url = `/api/assets/${id}/file${variant === undefined ? '' : `?variant=${variant}`}`
    return { url, signedUrl: this.#links.sign(url) }
  }
}

import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type, type Static } from '../../../core/schema.ts'
import { AssetView, RenditionView } from './schemas.ts'

const { assetId, folderId, jobId, renditionId, userId, workspaceId } = EXAMPLE

const url = `/api/assets/${assetId}/file`

const asset: Static<typeof AssetView> = {
  _id: assetId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  name: 'show.mp4',
  altText: '',
  altTextOrigin: null,
  tags: ['friday'],
  folderId,
  kind: 'video',
  type: 'video/mp4',
  size: 48_211_904,
  checksum: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  width: 1280,
  height: 720,
  duration: 95.2,
  codecs: { video: 'h264', audio: 'aac' },
  url,
  signedUrl: `${url}?expires=1795293000&signature=…`,
  signedUntil: '2026-11-21T20:00:00.000Z',
  thumbnail: {
    status: 'ready',
    error: null,
    blurhash: 'LEHV6nWB2yk8pyo0adR*.7kCMdnj',
    images: [
      {
        name: 'small',
        url: `${url}?variant=thumbnail-small`,
        signedUrl: `${url}?variant=thumbnail-small&expires=1795293000&signature=…`,
        width: 320,
        height: 180,
      },
    ],
  },
  createdBy: userId,
  deletedAt: null,
  version: 2,
}

const rendition: Static<typeof RenditionView> = {
  _id: renditionId,
  assetId,
  name: 'instagram-reel',
  status: 'ready',
  progress: 100,
  error: null,
  jobId,
  url: `${url}?variant=${renditionId}`,
  signedUrl: `${url}?variant=${renditionId}&expires=1795293000&signature=…`,
  type: 'video/mp4',
  size: 21_004_288,
  width: 1080,
  height: 1920,
  duration: 95.2,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
}

export const assetCreated = event({
  name: 'asset.created',
  summary: 'A file was added to the media library, or restored from the bin',
  description: 'The thumbnail, dimensions and duration may follow later, with `asset.updated`.',
  scope: 'media:read',
  data: AssetView,
  example: asset,
})

export const assetUpdated = event({
  name: 'asset.updated',
  summary: 'The name, alt text, tags or folder of an asset changed, or its thumbnail is ready',
  description: 'Replace your copy of the asset with `data`.',
  scope: 'media:read',
  data: AssetView,
  example: asset,
})

export const assetDeleted = event({
  name: 'asset.deleted',
  summary: 'Assets were moved to the bin',
  scope: 'media:read',
  data: Type.Object({ assetIds: Type.Array(Id, { description: 'The assets that were moved to the bin' }) }),
  example: { assetIds: [assetId] },
})

export const renditionUpdated = event({
  name: 'rendition.updated',
  summary: 'A rendition was requested, is ready or has failed',
  description: 'While the rendition is being made, `job.progress` reports its progress.',
  scope: 'media:read',
  data: RenditionView,
  example: rendition,
})

export const renditionDeleted = event({
  name: 'rendition.deleted',
  summary: 'Renditions were deleted',
  scope: 'media:read',
  data: Type.Object({
    assetId: Id,
    renditionIds: Type.Array(Id, { description: 'The deleted renditions of this asset' }),
  }),
  example: { assetId, renditionIds: [renditionId] },
})

export const folderUpdated = event({
  name: 'folder.updated',
  summary: 'Folders of the media library were created, edited or deleted',
  description: 'The event carries no data. List the folders again.',
  scope: 'media:read',
  data: Type.Object({}),
  example: {},
})

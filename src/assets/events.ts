import { event } from '../core/event.ts'
import { Id, Type } from '../core/schema.ts'
import { AssetView, RenditionView } from './schemas.ts'

export const assetCreated = event({
  name: 'asset.created',
  summary: 'A file was added to the media library, or came back from the bin',
  scope: 'media:read',
  data: AssetView,
})

export const assetUpdated = event({
  name: 'asset.updated',
  summary: 'Name, text, tags or folder of an asset have changed, or its thumbnail is there',
  scope: 'media:read',
  data: AssetView,
})

export const assetsDeleted = event({
  name: 'assets.deleted',
  summary: 'Assets went to the bin',
  scope: 'media:read',
  data: Type.Object({ ids: Type.Array(Id) }),
})

export const renditionChanged = event({
  name: 'asset.rendition',
  summary: 'A rendition was ordered, is ready or has failed',
  scope: 'media:read',
  data: RenditionView,
})

export const renditionDeleted = event({
  name: 'asset.rendition.deleted',
  summary: 'Renditions were deleted, ready or not',
  scope: 'media:read',
  data: Type.Object({ assetId: Id, ids: Type.Array(Id) }),
})

export const foldersChanged = event({
  name: 'asset.folders',
  summary: 'The folders of the media library have changed: read them again',
  scope: 'media:read',
  data: Type.Object({}),
})

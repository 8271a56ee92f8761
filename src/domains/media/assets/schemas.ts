import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several, SeveralTexts } from '../../../core/several.ts'
import { KINDS } from '../../../content/types.ts'
import { AltTextOrigin } from './alt-text-origin.ts'

export const MediaState = States('MediaStatus', 'The status of a thumbnail or a rendition', {
  pending: 'Queued, or being made',
  ready: 'Ready for download',
  failed: 'Could not be made. `error` has the reason',
})
export type MediaState = Static<typeof MediaState>

const SIGNED =
  'The same URL with a signature instead of a credential, for the `src` of an image or a video. A path on the server; use it unchanged'
const SIGNED_UNTIL = 'When the signed URLs expire: after one to two hours. GET the asset again for new ones'
const PLAIN_URL = 'Path of the file on the server. Requires the same credential as the API'

const ThumbnailImage = Type.Object({
  name: Type.String({ description: 'Name of the size' }),
  url: Type.String({ description: PLAIN_URL }),
  signedUrl: Type.String({ description: SIGNED }),
  width: Type.Integer(),
  height: Type.Integer(),
})

export const ThumbnailView = named(
  'Thumbnail',
  Type.Object(
    {
      status: MediaState,
      error: Nullable(Type.String({ description: 'Why there is no thumbnail' })),
      blurhash: Nullable(
        Type.String({ description: 'BlurHash: a blurred placeholder as 20 to 30 characters (blurha.sh)' }),
      ),
      images: Type.Array(ThumbnailImage),
    },
    { description: 'Thumbnails of the asset, made soon after the upload' },
  ),
)
export type ThumbnailData = Static<typeof ThumbnailView>

export const RenditionView = named(
  'Rendition',
  Type.Object({
    _id: Id,
    assetId: Id,
    name: Type.String({ description: 'The preset, or `custom`' }),
    status: MediaState,
    progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent' }),
    error: Nullable(Type.String({ description: 'Why the rendition failed' })),
    jobId: Nullable(Type.String({ description: 'Id of the job that makes the rendition, as in `job.progress`' })),
    url: Nullable(Type.String({ description: PLAIN_URL })),
    signedUrl: Nullable(Type.String({ description: SIGNED })),
    type: Nullable(Type.String({ description: 'Media type of the file' })),
    size: Nullable(Type.Integer({ description: 'Bytes' })),
    width: Nullable(Type.Integer({ description: 'Pixels' })),
    height: Nullable(Type.Integer({ description: 'Pixels' })),
    duration: Nullable(Type.Number({ description: 'Seconds' })),
    createdAt: ResourceBase.createdAt,
    updatedAt: ResourceBase.updatedAt,
  }),
)
export type RenditionData = Static<typeof RenditionView>

const asset = {
  ...ResourceBase,
  workspaceId: Id,
  name: Type.String({ description: 'Display name of the file' }),
  altText: Type.String({ description: 'Alternative text for people who cannot see the file. Empty if there is none' }),
  altTextOrigin: Type.Union([AltTextOrigin, Type.Null()], { description: 'Set if a model wrote the alt text' }),
  tags: Type.Array(Type.String(), { description: 'Tags of the asset' }),
  folderId: Nullable(Type.String({ ...Id, description: 'The folder of the asset. Null if it is in none' })),
  kind: OneOf(KINDS, { description: 'Kind of the file, detected from the content' }),
  type: Type.String({ description: 'Media type, detected from the content' }),
  size: Type.Integer({ description: 'Bytes' }),
  checksum: Type.String({ description: 'SHA-256, hexadecimal' }),
  width: Nullable(Type.Integer({ description: 'Pixels, after rotation' })),
  height: Nullable(Type.Integer({ description: 'Pixels, after rotation' })),
  duration: Nullable(Type.Number({ description: 'Seconds' })),
  codecs: Type.Object(
    { video: Nullable(Type.String()), audio: Nullable(Type.String()) },
    { description: 'Codecs of the video and audio tracks, such as `h264` and `aac`' },
  ),
  url: Type.String({ description: PLAIN_URL }),
  signedUrl: Type.String({ description: SIGNED }),
  signedUntil: Type.String({ format: 'date-time', description: SIGNED_UNTIL }),
  thumbnail: ThumbnailView,
  createdBy: Type.String({ ...Id, description: 'The user who uploaded the file' }),
  deletedAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When the asset was moved to the bin. It is deleted 30 days later',
    }),
  ),
  version: Type.Integer({ description: 'Increases with every update. Use it with If-Match' }),
}

export const AssetView = named('Asset', Type.Object(asset))
export type AssetData = Static<typeof AssetView>

const AssetUseView = Type.Object({
  kind: Type.String({ description: 'Kind of the resource that uses the asset, such as `post`' }),
  _id: Id,
  title: Type.String(),
  scheduled: Type.Boolean({
    description: 'Whether the resource still needs the file, so that deleting the asset requires `force`',
  }),
  versionNumbers: Nullable(
    Type.Array(Type.Integer(), {
      description: 'The kept versions of a studio project that use the asset, newest first. Null for other resources',
    }),
  ),
})

export const AssetDetails = named(
  'AssetDetails',
  Type.Object({ ...asset, renditions: Type.Array(RenditionView), usedIn: Type.Array(AssetUseView) }),
)

export const Tags = Type.Array(Text(1, 40), { maxItems: 30, uniqueItems: true })
export const FileName = Text(1, 255, {
  description: 'File name without folders. Everything up to the last slash is removed',
})

export const AssetQuery = Input({
  workspaceId: Id,
  folderId: Several(Type.Union([Id, Type.Literal('root')]), {
    description: 'Only assets in this folder. `root` for assets in no folder',
  }),
  tag: SeveralTexts(Text(1, 40), { description: 'Only assets with this tag' }),
  type: Several(OneOf(KINDS), { description: 'Only files of this kind' }),
  q: Type.Optional(Text(1, 100, { description: 'Only assets with this text in their name, alt text or a tag' })),
  bin: Type.Optional(Type.Boolean({ description: 'List the assets in the bin instead' })),
  sort: Type.Optional(
    OneOf(['newest', 'oldest', 'name', 'largest'], { default: 'newest', description: 'Defaults to `newest`' }),
  ),
  ...pageFields,
  cursor: Type.Optional(Type.String({ maxLength: 2_000, description: '`pagination.nextCursor` of the previous page' })),
})
export type AssetFilter = Static<typeof AssetQuery>

export const NewAssetFields = Input({
  workspaceId: Id,
  folderId: Type.Optional(Id),
  tags: Type.Optional(Tags),
  altText: Type.Optional(Text(0, 1_500)),
  name: Type.Optional(FileName),
})

export const NewAssetFromUrl = Input({
  ...NewAssetFields.properties,
  url: Text(1, 2_048, { description: 'http or https. Anyone on the internet can open it' }),
})

export const AssetEdit = Input({
  name: Type.Optional(FileName),
  altText: Type.Optional(Text(0, 1_500)),
  tags: Type.Optional(Tags),
  folderId: Type.Optional(Nullable(Id)),
  deletedAt: Type.Optional(Type.Null({ description: 'Restores the asset from the bin, if enough storage is left' })),
})

const ids = (maxItems: number) => Type.Array(Id, { minItems: 1, maxItems, uniqueItems: true })

export const AssetsToDelete = Input({
  workspaceId: Id,
  ids: ids(100),
  force: Type.Optional(
    Type.Boolean({ description: 'Delete assets even if a scheduled post or a broadcast needs them' }),
  ),
})
export const DeletedRow = Type.Object({
  _id: Id,
  status: States('AssetDeletion', 'The result of deleting an asset', {
    deleted: 'The asset was moved to the bin',
    not_found: 'The workspace has no asset with this id',
    in_use: 'The asset was kept, because a resource in `usedIn` needs it. Set `force` to delete it anyway',
  }),
  httpStatus: Type.Integer({
    description: 'The status that a request for this asset alone would get: 200, 404 or 409',
  }),
  message: Type.String(),
  usedIn: Type.Array(AssetUseView),
})
export type DeletedRowData = Static<typeof DeletedRow>

export const AssetsToResolve = Input({ workspaceId: Id, ids: ids(200) })
export const ResolvedAsset = Type.Object({
  _id: Id,
  found: Type.Boolean(),
  name: Nullable(Type.String()),
  kind: Nullable(Type.String()),
  type: Nullable(Type.String()),
  url: Nullable(Type.String()),
  signedUrl: Nullable(Type.String({ description: SIGNED })),
  signedUntil: Nullable(Type.String({ description: SIGNED_UNTIL })),
  thumbnail: Nullable(ThumbnailView),
})

export const StorageUsageView = named(
  'StorageUsage',
  Type.Object({
    workspaceId: Id,
    bytes: Type.Integer({ description: 'Bytes of the assets of this workspace. Equal contents count once' }),
    byKind: Type.Object({
      image: Type.Integer(),
      video: Type.Integer(),
      audio: Type.Integer(),
      document: Type.Integer(),
      renditions: Type.Integer(),
    }),
    assetCount: Type.Integer(),
    quota: Type.Object({
      limit: Type.Integer({ description: 'Bytes that the plan allows for all workspaces of the owner' }),
      used: Type.Integer({ description: 'Bytes of stored files and renditions' }),
      held: Type.Integer({ description: 'Bytes reserved for open uploads' }),
      left: Type.Integer({ description: 'Bytes that are left' }),
    }),
  }),
)

export const WorkspaceQuery = Input({ workspaceId: Id })
export const AssetPath = Input({ id: Id })
export const FileQuery = Input({
  variant: Type.Optional(
    Text(1, 60, {
      description:
        '`thumbnail-<name>`, or the id of a rendition. For a preview, the id gives the playlist, and `<id>.ts` gives the segments',
    }),
  ),
  expires: Type.Optional(Type.Integer({ minimum: 0, description: 'Part of a signed URL' })),
  signature: Type.Optional(Text(43, 43, { description: 'Part of a signed URL' })),
})

export const FolderView = named(
  'AssetFolder',
  Type.Object({ ...ResourceBase, name: Type.String(), parentId: Nullable(Id), assetCount: Type.Integer() }),
)

export const FolderNode = Type.Object({
  ...ResourceBase,
  name: Type.String(),
  parentId: Nullable(Id),
  path: Type.String({ description: 'Names of the ancestors and of the folder, joined by slashes' }),
  depth: Type.Integer({ description: 'Number of ancestors' }),
  assetCount: Type.Integer({ description: 'Assets in the folder, without subfolders' }),
  childIds: Type.Array(Id),
})
export type FolderNodeData = Static<typeof FolderNode>

const FolderName = Text(1, 100, {
  pattern: '^(?!\\.{1,2}$)[^/\\\\\\u0000-\\u001F]*$',
  description: 'a name without slashes or control characters, other than `.` and `..`',
})
export const NewFolder = Input({ workspaceId: Id, name: FolderName, parentId: Type.Optional(Id) })
export const FolderEdit = Input({ name: Type.Optional(FolderName), parentId: Type.Optional(Nullable(Id)) })

export const TagCount = Type.Object({ tag: Type.String(), assetCount: Type.Integer() })

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
import { KINDS } from '../../../content/types.ts'

export const MediaState = States('MediaStatus', 'Whether a thumbnail or a rendition has been made', {
  pending: 'Waits for its turn, or is being made',
  ready: 'Can be downloaded',
  failed: 'Could not be made, for the reason in `error`',
})
export type MediaState = Static<typeof MediaState>

const SIGNED =
  'The same with its credential in it, for `src` of an image or a video: a path below the server, taken as it is'
const SIGNED_UNTIL = 'When the signed URLs end, after one to two hours: ask for the asset again to get new ones'

const ThumbnailImage = Type.Object({
  name: Type.String({ description: 'Name of the size' }),
  url: Type.String({ description: 'Path below the server; needs the same credential' }),
  signedUrl: Type.String({ description: SIGNED }),
  width: Type.Integer(),
  height: Type.Integer(),
})

export const ThumbnailView = named(
  'Thumbnail',
  Type.Object(
    {
      status: MediaState,
      error: Nullable(Type.String({ description: 'Why there is none' })),
      blurhash: Nullable(Type.String({ description: 'A blurred picture of 20 to 30 characters (blurha.sh)' })),
      images: Type.Array(ThumbnailImage),
    },
    { description: 'Small pictures of it, made soon after it came' },
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
    error: Nullable(Type.String({ description: 'Why there is none' })),
    jobId: Nullable(Type.String({ description: 'Of the job that makes it: `job.progress` names it' })),
    url: Nullable(Type.String({ description: 'Path of the file below the server; needs the same credential' })),
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
  name: Type.String({ description: 'Name of the file, for people' }),
  altText: Type.String({ description: 'What it shows, for those who cannot see it; empty for none' }),
  tags: Type.Array(Type.String(), { description: 'Words to find it by' }),
  folderId: Nullable(Type.String({ ...Id, description: 'The folder that it is in; null for none' })),
  kind: OneOf(KINDS, { description: 'What the file is, by content' }),
  type: Type.String({ description: 'Media type, by content' }),
  size: Type.Integer({ description: 'Bytes' }),
  checksum: Type.String({ description: 'SHA-256, hexadecimal' }),
  width: Nullable(Type.Integer({ description: 'Pixels, as shown' })),
  height: Nullable(Type.Integer({ description: 'Pixels, as shown' })),
  duration: Nullable(Type.Number({ description: 'Seconds' })),
  codecs: Type.Object(
    { video: Nullable(Type.String()), audio: Nullable(Type.String()) },
    { description: 'How pictures and sound are encoded, such as `h264` and `aac`' },
  ),
  url: Type.String({ description: 'Path of the file below the server; needs the same credential' }),
  signedUrl: Type.String({ description: SIGNED }),
  signedUntil: Type.String({ format: 'date-time', description: SIGNED_UNTIL }),
  thumbnail: ThumbnailView,
  createdBy: Type.String({ ...Id, description: 'The user who uploaded it' }),
  deletedAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When it went to the bin, from which it is removed after 30 days',
    }),
  ),
  version: Type.Integer({ description: 'Grows with every edit; for If-Match' }),
}

export const AssetView = named('Asset', Type.Object(asset))
export type AssetData = Static<typeof AssetView>

const AssetUseView = Type.Object({
  kind: Type.String({ description: 'For example `post`' }),
  _id: Id,
  title: Type.String(),
  scheduled: Type.Boolean({ description: 'It still needs the file: deleting asks for `force`' }),
})

export const AssetDetails = named(
  'AssetDetails',
  Type.Object({ ...asset, renditions: Type.Array(RenditionView), usedIn: Type.Array(AssetUseView) }),
)

export const Tags = Type.Array(Text(1, 40), { maxItems: 30, uniqueItems: true })
export const FileName = Text(1, 255, { description: 'Without folders: what is before the last slash is dropped' })

export const AssetQuery = Input({
  workspaceId: Id,
  folderId: Type.Optional(
    Type.Union([Id, Type.Literal('root')], { description: 'Assets of this folder; `root` for those in none' }),
  ),
  tag: Type.Optional(Text(1, 40)),
  type: Type.Optional(OneOf(KINDS, { description: 'What the file is' })),
  q: Type.Optional(Text(1, 100, { description: 'Is part of the name, the alt text or a tag' })),
  bin: Type.Optional(Type.Boolean({ description: 'What is in the bin instead of what is not' })),
  sort: Type.Optional(
    OneOf(['newest', 'oldest', 'name', 'largest'], { default: 'newest', description: '`newest` when absent' }),
  ),
  ...pageFields,
  cursor: Type.Optional(Type.String({ maxLength: 2_000, description: '`pagination.nextCursor` of the page before' })),
})
export type AssetFilter = Static<typeof AssetQuery>

export const NewAssetFields = Input({
  workspaceId: Id,
  folderId: Type.Optional(Id),
  tags: Type.Optional(Tags),
  altText: Type.Optional(Text(0, 1_500)),
  name: Type.Optional(FileName),
})

export const AssetEdit = Input({
  name: Type.Optional(FileName),
  altText: Type.Optional(Text(0, 1_500)),
  tags: Type.Optional(Tags),
  folderId: Type.Optional(Nullable(Id)),
  deletedAt: Type.Optional(Type.Null({ description: 'Takes it out of the bin, when the plan has room for it' })),
})

const ids = (most: number) => Type.Array(Id, { minItems: 1, maxItems: most, uniqueItems: true })

export const AssetsToDelete = Input({
  workspaceId: Id,
  ids: ids(100),
  force: Type.Optional(Type.Boolean({ description: 'Delete what a scheduled post or a broadcast needs, too' })),
})
export const DeletedRow = Type.Object({
  _id: Id,
  status: States('AssetDeletion', 'What became of an asset that was to be deleted', {
    deleted: 'Went to the bin',
    not_found: 'The workspace has no such asset',
    in_use: 'Kept because `usedIn` still needs it. `force` deletes it all the same',
  }),
  httpStatus: Type.Integer({ description: '200, 404 or 409: the status that a request for this one would get' }),
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
    bytes: Type.Integer({ description: 'Of the assets of this workspace, each content once' }),
    byKind: Type.Object({
      image: Type.Integer(),
      video: Type.Integer(),
      audio: Type.Integer(),
      document: Type.Integer(),
      renditions: Type.Integer(),
    }),
    assetCount: Type.Integer(),
    quota: Type.Object({
      limit: Type.Integer({ description: 'Bytes over all workspaces of the owner' }),
      used: Type.Integer(),
      held: Type.Integer({ description: 'By uploads under way' }),
      left: Type.Integer(),
    }),
  }),
)

export const WorkspaceQuery = Input({ workspaceId: Id })
export const AssetPath = Input({ id: Id })
export const FileQuery = Input({
  variant: Type.Optional(
    Text(1, 60, {
      description:
        '`thumbnail-<name>`, or the id of a rendition; of a preview that is the playlist, and `<id>.ts` what it plays',
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
  path: Type.String({ description: 'Names from the top, joined by slashes' }),
  depth: Type.Integer({ description: '0 at the top' }),
  assetCount: Type.Integer({ description: 'Assets directly in it' }),
  childIds: Type.Array(Id),
})
export type FolderNodeData = Static<typeof FolderNode>

const FolderName = Text(1, 100, {
  pattern: '^(?!\\.{1,2}$)[^/\\\\\\u0000-\\u001F]*$',
  description: 'a name without slashes and control characters, other than `.` and `..`',
})
export const NewFolder = Input({ workspaceId: Id, name: FolderName, parentId: Type.Optional(Id) })
export const FolderEdit = Input({ name: Type.Optional(FolderName), parentId: Type.Optional(Nullable(Id)) })

export const TagCount = Type.Object({ tag: Type.String(), assetCount: Type.Integer() })

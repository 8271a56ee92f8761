import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'

export const BroadcastStatus = States('BroadcastStatus', 'Status of a file broadcast', {
  scheduled: 'Starts at `scheduledFor`',
  preparing: 'Files are being converted for the platforms. The broadcast starts when they are ready',
  playing: 'A file is being played',
  paused: 'Paused by a member. Destinations get a still picture and silence',
  finished: 'All files have been played',
  stopped: 'Was cancelled by a member, or ended with its stream',
  failed: 'Could not be played. `error` says why',
})
export type BroadcastStatus = Static<typeof BroadcastStatus>

const MAX_ITEMS = 200

const ItemInput = Input({
  assetId: Id,
  renditionId: Type.Optional(
    Type.String({ ...Id, description: 'Rendition of the asset to play instead of the original file' }),
  ),
})
export type ItemInputData = Static<typeof ItemInput>

const Items = Type.Array(ItemInput, { minItems: 1, maxItems: MAX_ITEMS })

const Position = Type.Number({ minimum: 0, maximum: 1_000_000, description: 'Position in the file, in seconds' })

export const NewBroadcast = Input({
  assetId: Type.Optional(Type.String({ ...Id, description: 'Asset to play. Use `items` to play several' })),
  renditionId: Type.Optional(
    Type.String({ ...Id, description: 'Rendition of the asset to play instead of the original file' }),
  ),
  items: Type.Optional(
    Type.Array(ItemInput, {
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: 'Files to play one after another. Use either `items` or `assetId`',
    }),
  ),
  loop: Type.Optional(Type.Boolean({ description: 'Whether to play the list again after the last file' })),
  startAt: Type.Optional({
    ...Position,
    description:
      'Where to start in the first file, in seconds. Playing starts at the last keyframe at or before this position, up to 4 s earlier. `startSeconds` of the file is the exact position',
  }),
  scheduledFor: Type.Optional(
    Nullable({ ...InstantInput, description: 'When to start: ISO 8601 with an offset or Z. Default: now' }),
  ),
  transcode: Type.Optional(
    OneOf(['auto', 'never'] as const, {
      description:
        'What to do with a file that not all platforms can play. `auto` (the default) makes a rendition with the preset `live` and starts when it is ready. `never` refuses the file and gives the reason',
    }),
  ),
  goLive: Type.Optional(
    Type.Boolean({
      description:
        'Whether the stream goes live when the broadcast starts. Default: true. If false, the files are ingested as if a publisher sent them, until you go live',
    }),
  ),
})
export type NewBroadcastData = Static<typeof NewBroadcast>

export const BroadcastEdit = Input({
  paused: Type.Optional(
    Type.Boolean({ description: 'Whether the broadcast is paused. Destinations then get a still picture and silence' }),
  ),
  loop: Type.Optional(Type.Boolean()),
  next: Type.Optional(Type.Literal(true, { description: 'Skip to the next file' })),
  item: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100_000, description: 'Skip to this file. Its index in `items`, from 0' }),
  ),
  position: Type.Optional({
    ...Position,
    description:
      'Seek to this position in the file, in seconds. Playing continues at the last keyframe at or before this position. `startSeconds` of the file is the exact position',
  }),
  add: Type.Optional({ ...Items, description: 'Files to add to the end of the list' }),
})
export type BroadcastEditData = Static<typeof BroadcastEdit>

export const BroadcastView = named(
  'Broadcast',
  Type.Object({
    ...ResourceBase,
    streamId: Id,
    status: BroadcastStatus,
    items: Type.Array(
      Type.Object({
        assetId: Id,
        renditionId: Nullable(Id),
        name: Type.String(),
        duration: Nullable(Type.Number({ description: 'Seconds' })),
        startSeconds: Nullable(
          Type.Number({
            description:
              'Where playing started in this file, in seconds: the last keyframe at or before `startAt` or `position`. Null before the start, and for files that followed another one',
          }),
        ),
        error: Nullable(Type.String({ description: 'Why the file was skipped' })),
      }),
    ),
    loop: Type.Boolean(),
    item: Type.Integer({ description: 'Index in `items` of the file that is being played, from 0' }),
    position: Type.Number({ description: 'Position in that file, in seconds. Updated about once a second' }),
    preparation: Type.Union(
      [
        Type.Object({
          fileCount: Type.Integer({ description: 'Number of files to convert' }),
          readyCount: Type.Integer({ description: 'Number of files that have been converted' }),
          progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Progress of all conversions, in percent' }),
        }),
        Type.Null(),
      ],
      { description: 'Conversion of the files, until the broadcast starts. Null if no file needs to be converted' },
    ),
    scheduledFor: Nullable(Timestamp),
    startedAt: Nullable(Timestamp),
    endedAt: Nullable(Timestamp),
    error: Nullable(Type.String({ description: 'Why the broadcast failed' })),
  }),
)
export type BroadcastData = Static<typeof BroadcastView>

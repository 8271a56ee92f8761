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

export const BroadcastStatus = States('BroadcastStatus', 'How a broadcast of files is doing', {
  scheduled: 'Begins at `scheduledFor`',
  preparing: 'Files are being converted to what platforms take. It begins when they are ready',
  playing: 'A file is on the air',
  paused: 'Halted by hand: destinations get the picture at hand, and silence',
  finished: 'The last file has ended',
  stopped: 'Ended by hand, or with its stream',
  failed: 'Cannot be played, for the reason in `error`',
})
export type BroadcastStatus = Static<typeof BroadcastStatus>

const MOST_ITEMS = 200

const ItemInput = Input({
  assetId: Id,
  renditionId: Type.Optional(
    Type.String({ ...Id, description: 'A rendition of the asset in place of the file itself' }),
  ),
})
export type ItemInputData = Static<typeof ItemInput>

const Items = Type.Array(ItemInput, { minItems: 1, maxItems: MOST_ITEMS })

const Position = Type.Number({ minimum: 0, maximum: 1_000_000, description: 'Seconds since the beginning of the file' })

export const NewBroadcast = Input({
  assetId: Type.Optional(Type.String({ ...Id, description: 'The file to play; `items` for several' })),
  renditionId: Type.Optional(
    Type.String({ ...Id, description: 'A rendition of that asset in place of the file itself' }),
  ),
  items: Type.Optional(
    Type.Array(ItemInput, {
      minItems: 1,
      maxItems: MOST_ITEMS,
      description: 'Files to play one after another, in place of `assetId`',
    }),
  ),
  loop: Type.Optional(Type.Boolean({ description: 'After the last file comes the first again' })),
  startAt: Type.Optional({
    ...Position,
    description:
      'Seconds into the first file at which to begin. It begins at the last keyframe at or before this, up to 4 s earlier: `startSeconds` of the file says where',
  }),
  scheduledFor: Type.Optional(
    Nullable({ ...InstantInput, description: 'When to begin: ISO 8601 with an offset or Z; at once when absent' }),
  ),
  transcode: Type.Optional(
    OneOf(['auto', 'never'] as const, {
      description:
        'What becomes of a file that not every platform shows right: `auto` (when absent) makes a rendition of it (the preset `live`) and begins when that is ready; `never` refuses it with what is wrong',
    }),
  ),
  goLive: Type.Optional(
    Type.Boolean({
      description:
        'Whether its beginning sends the stream to its destinations; it does when absent. Without, it is taken in like a publisher’s media until you go live',
    }),
  ),
})
export type NewBroadcastData = Static<typeof NewBroadcast>

export const BroadcastEdit = Input({
  paused: Type.Optional(
    Type.Boolean({ description: 'While it is paused, destinations get the picture at hand, and silence' }),
  ),
  loop: Type.Optional(Type.Boolean()),
  next: Type.Optional(Type.Literal(true, { description: 'Go to the next file' })),
  item: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: 'Go to this file, counted from 0' })),
  position: Type.Optional({
    ...Position,
    description:
      'Go to this time of the file, in seconds; it goes on at the last keyframe at or before this, which `startSeconds` of the file says',
  }),
  add: Type.Optional({ ...Items, description: 'Files to play after the others' }),
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
              'Seconds into the file at which it really began: the last keyframe at or before `startAt` or `position`. Null until then, and for files that followed another one',
          }),
        ),
        error: Nullable(Type.String({ description: 'Why it was left out' })),
      }),
    ),
    loop: Type.Boolean(),
    item: Type.Integer({ description: 'The file that is played, counted from 0' }),
    position: Type.Number({ description: 'Seconds into that file; followed about once a second' }),
    preparation: Type.Union(
      [
        Type.Object({
          fileCount: Type.Integer({ description: 'How many are made into what platforms take' }),
          readyCount: Type.Integer({ description: 'How many of them are made' }),
          progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent of all of them' }),
        }),
        Type.Null(),
      ],
      { description: 'Until it begins, where files have to be made for it' },
    ),
    scheduledFor: Nullable(Timestamp),
    startedAt: Nullable(Timestamp),
    endedAt: Nullable(Timestamp),
    error: Nullable(Type.String({ description: 'Why it has failed' })),
  }),
)
export type BroadcastData = Static<typeof BroadcastView>

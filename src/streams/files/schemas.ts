import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Timestamp,
  Type,
  type Static,
} from '../../core/schema.ts'

export const BROADCAST_STATUSES = [
  'scheduled',
  'preparing',
  'playing',
  'paused',
  'finished',
  'stopped',
  'failed',
] as const
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number]

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
  startAt: Type.Optional({ ...Position, description: 'Seconds into the first file at which to begin' }),
  scheduledFor: Type.Optional(
    Nullable({ ...InstantInput, description: 'When to begin: ISO 8601 with an offset or Z; at once when absent' }),
  ),
  transcode: Type.Optional(
    OneOf(['auto', 'never'] as const, {
      description:
        'What becomes of a file that no platform would take: `auto` (when absent) makes a rendition of it (the preset `live`) and begins when that is ready; `never` refuses it with what is wrong',
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
  position: Type.Optional({ ...Position, description: 'Go to this time of the file, in seconds' }),
  add: Type.Optional({ ...Items, description: 'Files to play after the others' }),
})
export type BroadcastEditData = Static<typeof BroadcastEdit>

export const BroadcastView = named(
  'Broadcast',
  Type.Object({
    ...ResourceBase,
    streamId: Id,
    status: OneOf(BROADCAST_STATUSES),
    items: Type.Array(
      Type.Object({
        assetId: Id,
        renditionId: Nullable(Id),
        name: Type.String(),
        duration: Nullable(Type.Number({ description: 'Seconds' })),
        error: Nullable(Type.String({ description: 'Why it was left out' })),
      }),
    ),
    loop: Type.Boolean(),
    item: Type.Integer({ description: 'The file that is played, counted from 0' }),
    position: Type.Number({ description: 'Seconds into that file; followed about once a second' }),
    preparation: Type.Union(
      [
        Type.Object({
          files: Type.Integer({ description: 'How many are made into what platforms take' }),
          ready: Type.Integer({ description: 'How many of them are made' }),
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

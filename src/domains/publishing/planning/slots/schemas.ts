import { WEEKDAYS } from '../../../../core/local-times.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { MAX_BLACKOUTS, MAX_SLOTS, TimeAdjustment } from '../../calendar/index.ts'
import { TimeZone } from '../../posts/index.ts'

const MAX_ACCOUNTS = 100

const Day = Text(10, 10, { pattern: String.raw`^\d{4}-\d\d-\d\d$`, examples: ['2026-12-24'] })
const Weekday = OneOf(WEEKDAYS, { description: 'The day of the week' })
const LABEL = 'Only for posts that ask for this label. A slot without a label is for posts that ask for none'
const ACCOUNTS = 'Only for posts whose accounts are all among these. A slot without accounts is for every account'
const GAP = 'The least distance between two posts of one account, in minutes. 0 allows all but the same instant'
const BLACKOUTS = 'Days without slots, both ends included'

const Slot = Input({
  weekday: Weekday,
  time: Text(5, 5, { pattern: String.raw`^\d\d:\d\d$`, description: 'The clock time', examples: ['09:30'] }),
  label: Type.Optional(Nullable(Text(1, 50, { description: LABEL }))),
  accountIds: Type.Optional(Type.Array(Id, { maxItems: MAX_ACCOUNTS, description: ACCOUNTS })),
})
const Blackout = Input({ from: Day, to: Day })

export const QueueInput = Input({
  workspaceId: Id,
  timezone: Type.Optional(Nullable(TimeZone)),
  slots: Type.Array(Slot, { maxItems: MAX_SLOTS, description: 'The slots of a week' }),
  blackouts: Type.Optional(Type.Array(Blackout, { maxItems: MAX_BLACKOUTS, description: BLACKOUTS })),
  minimumGapMinutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_080, description: GAP })),
})
export type QueueInputData = Static<typeof QueueInput>

export const QueueView = named(
  'PostQueue',
  Type.Object({
    workspaceId: Id,
    version: Type.Integer({ description: 'Raised with each change. 0 before the first one' }),
    timezone: Nullable(Type.String({ description: 'The queue’s own IANA zone. Null to follow the workspace' })),
    effectiveTimezone: Type.String({ description: 'The IANA zone of the slots: `timezone`, or that of the workspace' }),
    slots: Type.Array(
      Type.Object({
        weekday: Weekday,
        time: Type.String({ description: 'The clock time' }),
        label: Nullable(Type.String({ description: LABEL })),
        accountIds: Type.Array(Id, { description: 'Empty for every account' }),
      }),
      { description: 'The slots of a week' },
    ),
    blackouts: Type.Array(Type.Object({ from: Type.String(), to: Type.String() }), { description: BLACKOUTS }),
    minimumGapMinutes: Type.Integer({ description: GAP }),
  }),
)
export type QueueData = Static<typeof QueueView>

export const PreviewQuery = Input({
  workspaceId: Id,
  accountIds: Type.Array(Id, { minItems: 1, maxItems: 50, description: 'The accounts of the post' }),
  label: Type.Optional(Text(1, 50, { description: 'The label of the slots. Slots without a label by default' })),
})

const FreeSlot = named(
  'PostSlot',
  Type.Object({
    scheduledFor: Timestamp,
    localTime: Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' }),
    timezone: Type.String(),
    timeAdjustment: Nullable(TimeAdjustment),
  }),
)

export const PreviewView = Type.Object({
  slots: Type.Array(FreeSlot, { description: 'The next free slots, at most 20' }),
  shortage: Nullable(
    Type.Object({
      code: States('QueueShortage', 'Why there are fewer than 20 free slots', {
        no_slots: 'The queue has no slot with this label for all of the accounts',
        no_free_slot: 'The slots of the next two years are taken, too near to another post, or in blackouts',
      }),
      message: Type.String(),
    }),
  ),
})

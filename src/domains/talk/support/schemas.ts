import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, ResourceBase, Text, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { Several, SeveralTexts } from '../../../core/several.ts'
import { MessageRole, PrioritySchema, TicketStatusSchema } from './states.ts'

export const MAX_MESSAGES = 1_000
export const MAX_OPEN = 100
/** How many unverified tickets may be open that claim to be from one user. */
export const MAX_UNVERIFIED = 20
const MAX_FILES = 10
export const MAX_TEXT = 20_000

export const TicketAttachment = named(
  'TicketAttachment',
  Type.Object({
    _id: Id,
    id: Type.String({ ...Id, description: 'The same as `_id`' }),
    name: Type.String({ description: 'File name' }),
    url: Type.String({ description: 'Path on this server. Needs a credential' }),
    fileType: Type.String({ description: 'Media type, detected from the content' }),
    size: Type.Integer({ description: 'Bytes' }),
  }),
)
export type TicketAttachmentData = Static<typeof TicketAttachment>

const unverified = {
  isUnverified: Type.Boolean({
    description: 'Whether it is a mail whose From could not be verified. Anyone may have written it',
  }),
  unverifiedFrom: Nullable(Type.String({ description: 'The address in From of such a mail' })),
}

export const TicketMessage = named(
  'TicketMessage',
  Type.Object({
    _id: Id,
    role: MessageRole,
    content: Type.String(),
    authorName: Type.String({ description: 'Empty if the user has set no name, no longer exists, or is not known' }),
    byMail: Type.Boolean({ description: 'Whether it arrived as a mail' }),
    ...unverified,
    attachments: Type.Array(TicketAttachment),
    createdAt: Timestamp,
  }),
)

const facts = {
  ...ResourceBase,
  subject: Type.String(),
  category: Type.String(),
  priority: PrioritySchema,
  status: TicketStatusSchema,
  createdBy: Nullable(Type.String({ ...Id, description: 'The user who has the problem; null if `isUnverified`' })),
  ...unverified,
  assigneeId: Nullable(Type.String({ ...Id, description: 'The administrator who takes care of it' })),
  firstResponseAt: Nullable(Type.String({ ...Timestamp, description: 'When the support team first replied' })),
  firstResponseDueAt: Type.String({ ...Timestamp, description: 'The target for the first reply' }),
  resolvedAt: Nullable(Type.String({ ...Timestamp, description: 'When it was resolved or closed' })),
  resolutionDueAt: Type.String({ ...Timestamp, description: 'The target for the resolution' }),
  closedAt: Nullable(Timestamp),
  isOverdue: Type.Boolean({ description: 'Whether a target has passed that was not met yet' }),
  version: Type.Integer(),
}

export const TicketSummary = named('TicketSummary', Type.Object(facts))
export type TicketSummaryData = Static<typeof TicketSummary>

export const TicketView = named(
  'Ticket',
  Type.Object({ ...facts, messages: Type.Array(TicketMessage, { description: 'Oldest first' }) }),
)
export type TicketData = Static<typeof TicketView>

const Attachments = Type.Array(Text(1, 500), {
  maxItems: MAX_FILES,
  uniqueItems: true,
  description: 'Files from uploadTicketAttachment: their ids or URLs',
})
const Message = Text(1, MAX_TEXT, { description: 'The text' })
const Category = Text(1, 50, { description: 'Such as `billing` or `streaming`' })

export const NewTicket = Input({
  subject: Text(1, 200),
  category: Category,
  priority: Type.Optional(PrioritySchema),
  message: Message,
  attachments: Type.Optional(Attachments),
})
export type NewTicketData = Static<typeof NewTicket>

export const NewReply = Input({ message: Message, attachments: Type.Optional(Attachments) })
export type NewReplyData = Static<typeof NewReply>

export const TicketChange = Input({
  status: Type.Optional(TicketStatusSchema),
  priority: Type.Optional(PrioritySchema),
  assigneeId: Type.Optional(
    Nullable(Type.String({ ...Id, description: 'An administrator; null for nobody. Only administrators may set it' })),
  ),
})
export type TicketChangeData = Static<typeof TicketChange>

export const TicketPath = Input({ id: Id })
export const AttachmentPath = Input({ id: Id })
export const TicketQuery = Input({
  status: Several(TicketStatusSchema),
  priority: Several(PrioritySchema),
  category: SeveralTexts(Category),
  assigneeId: Several(Id, { description: 'For administrators' }),
  createdBy: Several(Id, { description: 'For administrators' }),
  isUnverified: Type.Optional(
    Type.Boolean({ description: 'For administrators: mails whose From could not be verified' }),
  ),
  ...pageFields,
})
export type TicketFilter = Static<typeof TicketQuery>

const count = Type.Integer()
const Times = Type.Object(
  {
    medianSeconds: Nullable(Type.Number({ description: 'Null if there was none yet' })),
    metCount: Type.Integer({ description: 'How many met their target' }),
    missedCount: Type.Integer({ description: 'How many were too late, including those that are still open' }),
  },
  { description: 'Of the newest 10,000 tickets' },
)

export const TicketStats = named(
  'TicketStats',
  Type.Object({
    total: Type.Integer(),
    byStatus: Type.Array(Type.Object({ status: TicketStatusSchema, count }), { description: 'Only states that occur' }),
    byPriority: Type.Array(Type.Object({ priority: PrioritySchema, count }), {
      description: 'Only priorities that occur',
    }),
    byCategory: Type.Array(Type.Object({ category: Type.String(), count }), { description: 'The 50 most frequent' }),
    firstResponse: Nullable(Times),
    resolution: Nullable(Times),
  }),
)
export type TicketStatsData = Static<typeof TicketStats>

export const CannedReplyView = named(
  'CannedReply',
  Type.Object({
    ...ResourceBase,
    title: Type.String(),
    content: Type.String(),
    version: Type.Integer(),
    createdBy: Id,
  }),
)
export type CannedReplyData = Static<typeof CannedReplyView>
const canned = { title: Text(1, 100), content: Text(1, MAX_TEXT) }
export const NewCannedReply = Input(canned)
export const CannedReplyChange = Input({
  title: Type.Optional(canned.title),
  content: Type.Optional(canned.content),
})
export const CannedReplyPath = Input({ id: Id })
export const CannedReplyQuery = Input(pageFields)

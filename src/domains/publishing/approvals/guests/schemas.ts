import {
  Id,
  Input,
  Nullable,
  OneOf,
  ResourceBase,
  Text,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../../core/schema.ts'
import { TimeZone } from '../../../../core/time-zone.ts'

const Zone = Type.String({ ...TimeZone, description: 'IANA time zone in which the page shows times' })

export const NewGuest = Input({
  name: Text(1, 80, { description: 'Who gets the link. Decisions are shown under this name' }),
  postId: Type.Optional(Type.String({ ...Id, description: 'Only this post' })),
  label: Type.Optional(Text(1, 50, { description: 'Only posts with this label' })),
  accountId: Type.Optional(Type.String({ ...Id, description: 'Only posts for this account' })),
  passcode: Type.Optional(Text(6, 100, { description: 'Asked for when the link is opened. Send it by another way' })),
  timezone: Type.Optional(Zone),
  validDays: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 90, description: 'How long the link works; 14 days by default' }),
  ),
})
export type NewGuestData = Static<typeof NewGuest>

export const GuestView = named(
  'ApprovalGuest',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'Who has the link' }),
    postId: Nullable(Id),
    label: Nullable(Type.String({ description: 'Only posts with this label' })),
    accountId: Nullable(Id),
    timezone: Type.String({ description: 'IANA time zone in which the page shows times' }),
    hasPasscode: Type.Boolean({ description: 'Whether the link asks for a passcode' }),
    expiresAt: Timestamp,
    revokedAt: Nullable(Timestamp),
    lastSeenAt: Nullable(Type.String({ format: 'date-time', description: 'When it was last opened' })),
    createdBy: Type.String({ ...Id, description: 'The user who created it' }),
  }),
)
export type GuestData = Static<typeof GuestView>

export const CreatedGuest = Type.Object({
  guest: GuestView,
  url: Type.String({ description: 'The link. It is shown only once' }),
})

export const GuestPath = Input({ workspaceId: Id, id: Id })
export const TokenPath = Input({ token: Text(20, 100) })

/** Open, because messengers add their own parameters to links. */
export const PageView = Type.Object({
  view: Type.Optional(
    OneOf(['approve_all'], { description: 'The list of the posts that wait, with a button that approves them' }),
  ),
})

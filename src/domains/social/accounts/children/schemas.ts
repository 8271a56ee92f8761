import { CreatorInfo } from '../schemas.ts'
import { Id, Input, named, Nullable, OneOf, Text, Type, type Static } from '../../../../core/schema.ts'

export const ChildAccountView = named(
  'ChildAccount',
  Type.Object({
    remoteId: Type.String({ description: 'The id at the platform' }),
    name: Type.String(),
    handle: Nullable(Type.String({ description: 'Without a leading @' })),
    avatarUrl: Nullable(Type.String()),
    url: Nullable(Type.String({ description: 'The page at the platform' })),
    kind: Type.String({ description: 'The platform’s term, such as `page` or `organization`' }),
    blocked: Nullable(Type.String({ description: 'Why it cannot be connected. Null if it can' })),
    accountId: Nullable(Type.String({ ...Id, description: 'The connected account. Null if it is not connected' })),
  }),
)
export type ChildAccountData = Static<typeof ChildAccountView>

const RemoteIds = Type.Array(Text(1, 200), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'Values of `remoteId` from the list',
})

export const PageIds = Input({ pageIds: RemoteIds })

export const OrganizationIds = Input({ organizationIds: RemoteIds })

export const BoardView = named(
  'Board',
  Type.Object({
    remoteId: Type.String({ description: 'The id at the platform' }),
    name: Type.String(),
    url: Nullable(Type.String()),
    privacy: Nullable(Type.String({ description: 'The platform’s term, such as `public` or `secret`' })),
  }),
)

export const NewBoard = Input({
  name: Text(1, 180),
  description: Type.Optional(Text(0, 500)),
  privacy: Type.Optional(OneOf(['PUBLIC', 'SECRET'] as const, { default: 'PUBLIC' })),
})

export const CreatorWishInput = Input({
  privacyLevel: Type.Optional(Text(1, 60, { description: 'The platform’s term: `PUBLIC_TO_EVERYONE`, `SELF_ONLY`' })),
  durationSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: 86_400 })),
  allowComments: Type.Optional(Type.Boolean()),
  allowDuet: Type.Optional(Type.Boolean()),
  allowStitch: Type.Optional(Type.Boolean()),
})

export const CreatorCheck = named(
  'CreatorCheck',
  Type.Object({
    ok: Type.Boolean({ description: 'Whether the creator can post this' }),
    problems: Type.Array(
      Type.Object({
        field: Type.String({ description: 'The field of the request' }),
        message: Type.String(),
      }),
    ),
    info: CreatorInfo,
  }),
)

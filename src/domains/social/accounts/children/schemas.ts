import { Id, named, Nullable, Type, type Static } from '../../../../core/schema.ts'

const ChildAccountView = named(
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

import { Id, named, Nullable, OneOf, Type, type Static } from '../../../../core/schema.ts'
import { PlatformKey } from '../schemas.ts'
import { AccountStatusSchema } from '../status.ts'

export const LimitStatus = named(
  'LimitStatus',
  Type.Object({
    plan: Type.String(),
    isOver: Type.Boolean({ description: 'Whether any limit of the plan is exceeded' }),
    quotas: Type.Array(
      Type.Object({
        kind: OneOf(['socialAccounts', 'workspaces', 'openPosts', 'recurringPosts'] as const),
        workspaceId: Nullable(
          Type.String({ ...Id, description: 'The workspace, for limits of posts. Null for limits of the whole plan' }),
        ),
        limit: Type.Integer(),
        used: Type.Integer(),
        over: Type.Integer({
          description: 'How many must be archived or removed. Posts and series stay, but no more can be added',
        }),
        archivable: Type.Array(
          Type.Object({
            accountId: Id,
            workspaceId: Id,
            platform: PlatformKey,
            name: Type.String(),
            status: AccountStatusSchema,
          }),
          { description: 'Accounts that can be archived. Accounts that do not work come first' },
        ),
      }),
    ),
  }),
)
export type LimitStatusData = Static<typeof LimitStatus>

import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, OneOf, ResourceBase, States, Type, type Static } from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { PlatformKey } from '../../social/accounts/index.ts'
import { ReasonView, TargetStatusSchema } from '../posts/index.ts'

const PlatformCallView = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it began' }),
  method: Type.String(),
  url: Type.String({ description: 'Without secrets' }),
  httpStatus: Nullable(Type.Integer({ description: 'Null if there was no reply' })),
  durationMs: Type.Integer({ description: 'How long it took, in milliseconds' }),
  platformRequestId: Nullable(Type.String({ description: 'The platform’s id of the request, for its support' })),
  platformCode: Nullable(Type.String({ description: 'The platform’s own code of the error' })),
  error: Nullable(Type.String({ description: 'Why it failed' })),
})

export const PostAttemptView = named(
  'PostAttempt',
  Type.Object({
    ...ResourceBase,
    targetId: Type.String({ ...Id, description: 'The target of the post' }),
    accountId: Id,
    platform: PlatformKey,
    kind: States('PostAttemptKind', 'What an attempt is for', {
      prepare: 'It uploads files before the post is due',
      publish: 'It publishes',
      check: 'It asks the platform for a post whose reply was lost',
      edit: 'It changes the text of the published post',
      remove: 'It deletes the post at the platform',
    }),
    number: Type.Integer({ description: 'Its number since the target was last scheduled or retried' }),
    endedAt: Nullable(
      Type.String({ format: 'date-time', description: 'Null while it runs, or if its server was lost' }),
    ),
    status: Nullable(TargetStatusSchema),
    statusReason: Nullable(ReasonView),
    calls: Type.Array(PlatformCallView, { description: 'The calls to the platform, in order: at most 200' }),
  }),
)
export type PostAttemptData = Static<typeof PostAttemptView>

export const AttemptQuery = Input({
  targetId: Several(Id, { description: 'Only attempts of this target' }),
  ...pageFields,
})

export const TargetPath = Input({ id: Id, targetId: Type.String({ ...Id, description: 'The target of the post' }) })

export const Settlement = Input({
  outcome: OneOf(['published', 'not_published'] as const, { description: 'What you have seen at the account' }),
  url: Type.Optional(
    Type.String({ format: 'uri', maxLength: 2_000, description: 'The address of the post, if it was published' }),
  ),
})
export type SettlementInput = Static<typeof Settlement>

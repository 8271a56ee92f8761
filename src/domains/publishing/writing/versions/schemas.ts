import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  Nullable,
  ResourceBase,
  States,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../../core/schema.ts'
import { PostChanges } from '../changes/schemas.ts'
import { MediaView, ThreadPart, PostTextOrigin } from '../../posts/index.ts'

/** A user, as they are named beside what they did. */
export const ActorView = Nullable(
  Type.Object(
    { _id: Id, name: Type.String(), email: Type.String() },
    { description: 'Who did it. Null if the service did, or if the user no longer exists' },
  ),
)

const content = {
  content: Type.String({ description: 'The text' }),
  title: Nullable(Type.String()),
  link: Nullable(Type.String()),
  media: MediaView,
  thread: Type.Array(ThreadPart, { description: 'The parts that follow the first one' }),
  firstComment: Nullable(Type.String()),
  tags: Type.Array(Type.String()),
}

export const PostVersionView = named(
  'PostVersion',
  Type.Object({
    ...ResourceBase,
    version: Type.Integer({ description: 'Its number. The first version is 1' }),
    kind: States('PostVersionKind', 'How a version came about', {
      created: 'The post was created',
      edited: 'The post was changed',
      rescheduled: 'The post was given another time',
      restored: 'An earlier version was restored',
      zone_changed: 'The rules of the time zone have changed, so the same clock time is another instant',
    }),
    actor: ActorView,
    ...content,
    labels: Type.Array(Type.String()),
    scheduledFor: Nullable(Timestamp),
    localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
    timezone: Nullable(Type.String()),
    lateMinutes: Type.Integer(),
    targets: Type.Array(
      Type.Object({
        accountId: Id,
        override: Nullable(
          Type.Record(Type.String(), Type.Unknown(), { description: 'What this account publishes differently' }),
        ),
        scheduledFor: Nullable(Type.String({ format: 'date-time', description: 'Its own time, if it has one' })),
      }),
      { description: 'The accounts' },
    ),
    textOrigin: Type.Union([PostTextOrigin, Type.Null()], {
      description: 'As it was when the version was made. Null if no model wrote text of it',
    }),
    changes: Nullable(PostChanges),
  }),
)
export type PostVersionData = Static<typeof PostVersionView>

export const VersionPath = Input({
  id: Id,
  version: Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'The number of the version' }),
})
export const VersionQuery = Input(pageFields)

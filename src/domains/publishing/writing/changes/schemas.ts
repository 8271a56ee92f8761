import { Id, Nullable, OneOf, States, Timestamp, Type, named, type Static } from '../../../../core/schema.ts'

const WordRun = named(
  'PostWordRun',
  Type.Object({
    kind: States('PostWordRunKind', 'Which text has the words of a run', {
      equal: 'Both texts have these words',
      insert: 'Only the new text has these words',
      delete: 'Only the old text has these words',
    }),
    text: Type.String(),
  }),
)

const TextChange = Type.Array(WordRun, {
  description:
    'The difference by words, in the order of the text. Without the runs of `insert` it is the old text, without those of `delete` the new one',
})

const of = <const T extends string>(what: T) => ({ description: what })

const MediaRef = Type.Object({
  assetId: Id,
  renditionId: Nullable(Id),
  position: Type.Integer({
    description: 'Its place, from 0: in the new list if it was added, in the old one if it was removed',
  }),
})

const MediaChange = named(
  'PostMediaChange',
  Type.Object({
    added: Type.Array(MediaRef),
    removed: Type.Array(MediaRef),
    isReordered: Type.Boolean({ description: 'Whether the files that stayed are in another order' }),
    altTexts: Type.Array(
      Type.Object({ assetId: Id, before: Nullable(Type.String()), after: Nullable(Type.String()) }),
      of('Files whose alt text was changed'),
    ),
  }),
)

const ThreadChange = Type.Array(
  named(
    'PostThreadPartChange',
    Type.Object({
      index: Type.Integer({ description: 'The part, from 0' }),
      kind: OneOf(['added', 'removed', 'changed']),
      content: Type.Optional(TextChange),
      media: Type.Optional(MediaChange),
    }),
  ),
  of('Parts that differ. A part that was inserted makes the ones after it differ'),
)

const ListChange = named(
  'PostListChange',
  Type.Object({
    added: Type.Array(Type.String()),
    removed: Type.Array(Type.String()),
    isReordered: Type.Boolean({ description: 'Whether those that stayed are in another order' }),
  }),
)

const TimeChange = named(
  'PostTimeChange',
  Type.Object({
    before: Nullable(Timestamp),
    after: Nullable(Timestamp),
    localTimeBefore: Nullable(Type.String()),
    localTimeAfter: Nullable(Type.String()),
    timezoneBefore: Nullable(Type.String()),
    timezoneAfter: Nullable(Type.String()),
  }),
)

const contentChanges = {
  content: Type.Optional(TextChange),
  title: Type.Optional(TextChange),
  link: Type.Optional(TextChange),
  firstComment: Type.Optional(TextChange),
  media: Type.Optional(MediaChange),
  thread: Type.Optional(ThreadChange),
  tags: Type.Optional(ListChange),
}

const TargetChange = named(
  'PostTargetChange',
  Type.Object({
    accountId: Id,
    ...contentChanges,
    scheduledFor: Type.Optional(TimeChange),
    replaced: Type.Array(Type.String(), of('Fields that the account inherited from the post and now overrides')),
    restored: Type.Array(Type.String(), of('Fields that the account overrode and now inherits from the post')),
    options: Type.Optional(
      Type.Array(
        Type.Object({
          option: Type.String(),
          before: Type.Optional(Type.Unknown(of('Absent if the option was not set'))),
          after: Type.Optional(Type.Unknown(of('Absent if the option is not set'))),
        }),
      ),
    ),
  }),
)

/** The difference between two versions of a post. Fields that are the same in both are absent. */
export const PostChanges = named(
  'PostChanges',
  Type.Object(
    {
      parts: Type.Array(
        States('PostPart', 'A part of a post, for the list of what a version changed', {
          text: 'Content, title, link, thread, first comment or tags',
          media: 'Files, their order or their alt texts, of the post or its thread',
          targets: 'The accounts, or what one of them publishes differently',
          times: 'When the post goes out',
          labels: 'The labels, which platforms do not see',
          settings: 'The late limit',
        }),
        of('Which parts differ. Empty if none does'),
      ),
      ...contentChanges,
      labels: Type.Optional(ListChange),
      scheduledFor: Type.Optional(TimeChange),
      lateMinutes: Type.Optional(Type.Object({ before: Nullable(Type.Integer()), after: Nullable(Type.Integer()) })),
      targets: Type.Optional(
        named(
          'PostTargetsChange',
          Type.Object({
            added: Type.Array(Id, of('Accounts that were added')),
            removed: Type.Array(Id, of('Accounts that were removed')),
            changed: Type.Array(TargetChange, of('Accounts that publish something else than before')),
          }),
        ),
      ),
    },
    { description: 'The difference between two versions of a post. Fields that are the same in both are absent' },
  ),
)

export type PostChanges = Static<typeof PostChanges>
export type PostPart = PostChanges['parts'][number]
export type ContentChanges = Pick<PostChanges, keyof typeof contentChanges>
export type MediaChange = NonNullable<PostChanges['media']>
export type ThreadChange = NonNullable<PostChanges['thread']>
export type ListChange = NonNullable<PostChanges['tags']>
export type TimeChange = NonNullable<PostChanges['scheduledFor']>
export type TargetChange = NonNullable<PostChanges['targets']>['changed'][number]

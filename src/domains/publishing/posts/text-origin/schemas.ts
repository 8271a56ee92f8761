import { Id, named, Nullable, States, Timestamp, Type, type Static } from '../../../../core/schema.ts'

const Release = States('ModelTextRelease', 'Who decided that a text of a model is published', {
  person: 'A member scheduled or published the post in a login session',
  approval: 'A member approved it in a login session, or a guest did',
  rule: 'The AI settings of the workspace allow it (`autoPublishModelText`)',
})

export const PostTextOrigin = named(
  'PostTextOrigin',
  Type.Object(
    {
      aiJobIds: Type.Array(Id, { description: 'The AI jobs that wrote the texts, at most 10' }),
      models: Type.Array(Type.String(), { description: 'The models that wrote them' }),
      release: Nullable(Release),
      releasedBy: Nullable(
        Type.String({ ...Id, description: 'The member who decided, or whose API key used the rule. Null for a guest' }),
      ),
      releasedAt: Nullable(Timestamp),
    },
    {
      description:
        'A text of the post is a text that a model wrote for the workspace, or contains a part of one. While `release` is null, nobody has decided that it is published',
    },
  ),
)
export type PostTextOriginData = Static<typeof PostTextOrigin>

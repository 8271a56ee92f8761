import { named, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'

export const PlatformSummary = named(
  'PlatformSummary',
  Type.Object({
    platform: Type.String({ description: 'The key of the platform in requests' }),
    name: Type.String(),
    configured: Type.Boolean({ description: 'Whether accounts can be connected on this server' }),
    setup: Nullable(Type.String({ description: 'What the operator must do. Null if the platform is configured' })),
    sandboxUrl: Nullable(
      Type.String({ description: 'The pages of the sandbox that replaces the platform. Null if the sandbox is off' }),
    ),
    connect: Type.Array(OneOf(['sign_in', 'credentials'] as const), {
      description: '`sign_in`: GET /api/social-accounts/oauth/{platform}/url. `credentials`: POST /api/social-accounts',
    }),
  }),
)
export type PlatformSummaryData = Static<typeof PlatformSummary>

const RuleView = Type.Object({
  rule: Type.String({ description: 'The id of the rule, such as `text.max` or `image.types`' }),
  value: Type.Union([Type.Number(), Type.Array(Type.String())]),
  unit: Type.String({ description: 'The unit of the value' }),
  counting: Nullable(Type.String({ description: 'How a length is counted' })),
  source: Type.String({ description: 'The page or code that states the rule' }),
  seen: Type.String({ description: 'Year and month in which the source was read' }),
  confidence: OneOf(['read', 'vendor', 'reported'] as const, {
    description: 'Read on the platform’s own pages, in documents of other vendors, or reported by users',
  }),
  note: Nullable(Type.String()),
})

export const PlatformDetails = named(
  'PlatformDetails',
  Type.Object({
    ...PlatformSummary.properties,
    credentials: Nullable(
      Type.Object(
        {
          help: Type.String({ description: 'Where to find the credentials' }),
          fields: Type.Array(
            Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() }),
          ),
        },
        { description: 'The fields of `credentials` in POST /api/social-accounts. Null if the platform takes none' },
      ),
    ),
    scopes: Type.Array(Type.Object({ scope: Type.String(), purpose: Type.String() }), {
      description: 'The scopes that the consent page requests',
    }),
    rules: Type.Array(RuleView, { description: 'The platform’s limits' }),
  }),
)
export type PlatformDetailsData = Static<typeof PlatformDetails>

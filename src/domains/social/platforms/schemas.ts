import { named, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'

export const PlatformSummary = named(
  'PlatformSummary',
  Type.Object({
    platform: Type.String({ description: 'The key of the platform in requests' }),
    name: Type.String(),
    configured: Type.Boolean({ description: 'Whether accounts can be connected on this server' }),
    setup: Nullable(Type.String({ description: 'What the operator has to do; null when it is configured' })),
    sandboxUrl: Nullable(
      Type.String({ description: 'The pages of the sandbox that stands in for the platform; null when it is off' }),
    ),
    connect: Type.Array(OneOf(['sign_in', 'credentials'] as const), {
      description: '`sign_in`: GET /api/social-accounts/oauth/{platform}/url. `credentials`: POST /api/social-accounts',
    }),
  }),
)
export type PlatformSummaryData = Static<typeof PlatformSummary>

const RuleView = Type.Object({
  rule: Type.String({ description: 'Such as `text.max` or `image.types`' }),
  value: Type.Union([Type.Number(), Type.Array(Type.String())]),
  unit: Type.String({ description: 'What the value is' }),
  counting: Nullable(Type.String({ description: 'How a length is counted' })),
  source: Type.String({ description: 'Where the platform states it' }),
  seen: Type.String({ description: 'Year and month in which it was read' }),
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
          help: Type.String({ description: 'Where to find them' }),
          fields: Type.Array(
            Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() }),
          ),
        },
        { description: 'The fields of `credentials` in POST /api/social-accounts; null where there are none' },
      ),
    ),
    scopes: Type.Array(Type.Object({ scope: Type.String(), purpose: Type.String() }), {
      description: 'What the consent page asks for',
    }),
    rules: Type.Array(RuleView, { description: 'The platform’s limits' }),
  }),
)
export type PlatformDetailsData = Static<typeof PlatformDetails>

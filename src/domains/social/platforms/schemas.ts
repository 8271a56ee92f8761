import { Id, named, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'
import { AccountStatusSchema } from '../accounts/index.ts'

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
  origin: OneOf(['rule', 'operator', 'live'] as const, {
    description:
      '`rule`: the platform’s public rules. `operator`: a setting of this server. `live`: the platform’s reply for the account',
  }),
  source: Type.String({ description: 'The page or code that states the rule' }),
  seen: Nullable(
    Type.String({
      description:
        'Year and month in which the source was read, or in which the platform refused a file. Null for settings of this server and replies of the platform',
    }),
  ),
  confidence: Nullable(
    OneOf(['read', 'vendor', 'reported'] as const, {
      description:
        'Read on the platform’s own pages, in documents of other vendors, or reported by users or a refusal. Null for settings of this server and replies of the platform',
    }),
  ),
  note: Nullable(Type.String()),
})

const Time = (description: string) => Nullable(Type.String({ format: 'date-time', description }))

const BudgetView = Type.Object({
  name: Type.String({ description: 'The platform’s name of the budget, or the id of the rule' }),
  limit: Nullable(Type.Number({ description: 'Null if unknown' })),
  remaining: Nullable(Type.Number({ description: 'What is left until `resetsAt`. Null if unknown' })),
  resetsAt: Time('When the budget is full again. Null if unknown'),
  reportedAt: Time('When the platform reported it. Null if the platform reports nothing'),
})

const AccountNowView = Type.Object({
  accountId: Id,
  status: AccountStatusSchema,
  canPublish: Type.Boolean(),
  unavailable: Type.Array(
    Type.Object({
      capability: Type.String({ description: '`publish` is every post. Others are kinds of content, such as `video`' }),
      reason: Type.String(),
    }),
    { description: 'What the account cannot do at the moment' },
  ),
  choices: Type.Array(
    Type.Object({
      option: Type.String({ description: 'The name of an option' }),
      values: Type.Array(
        Type.Object({ value: Type.String(), title: Type.String({ description: 'What users call it' }) }),
      ),
    }),
    {
      description:
        'What the account can choose of an option: its boards, subreddits or categories, at most 500. Empty if the platform lists nothing or has not replied',
    },
  ),
  details: Nullable(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Further facts in the platform’s own terms. Null if the platform has none or has not replied',
    }),
  ),
  checkedAt: Time('When the platform replied. Null if it has not, or has nothing to ask'),
  error: Nullable(Type.String({ description: 'Why there is no newer reply. Null if there is nothing newer' })),
  budgets: Type.Array(BudgetView, { description: 'What is left of each budget' }),
})

const PriceView = Type.Object({
  per: OneOf(['post', 'post_with_link', 'read'] as const, {
    description: '`post_with_link` replaces `post` for each part with a URL in its text',
  }),
  amount: Type.Number(),
  currency: Type.String({ description: 'ISO 4217' }),
  source: Type.String({ description: 'The page that states the price' }),
  seen: Type.String({ description: 'Year and month in which the source was read' }),
  confidence: OneOf(['read', 'vendor', 'reported'] as const, {
    description: 'Read on the platform’s own pages, in documents of other vendors, or reported by users',
  }),
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
    rules: Type.Array(RuleView, { description: 'The limits of the platform, or of the account with `accountId`' }),
    options: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'JSON Schema (2020-12) of `options` in the `override` of a target. Each field has a title and a description',
    }),
    callPrices: Type.Array(PriceView, {
      description: 'What the platform charges the operator of this server. Empty if it is free',
    }),
    account: Nullable(AccountNowView),
  }),
)
export type PlatformDetailsData = Static<typeof PlatformDetails>
export type AccountNowData = Static<typeof AccountNowView>

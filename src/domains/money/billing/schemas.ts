import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Timestamp,
  Type,
} from '../../../core/schema.ts'
import type { Static } from '../../../core/schema.ts'
import { PLAN_NAMES, SubscriptionStatus } from '../../identity/users/index.ts'
import { PROFILE_FIELDS } from '../invoices/index.ts'
import { CreditBalance } from '../ledger/index.ts'
import { MoneyView, TERMS } from '../plans/index.ts'
import { CURRENCY } from './currency.ts'

export const Plan = OneOf(PLAN_NAMES)
export const TermSchema = OneOf(TERMS)
const Currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' })

/** The most extra accounts of one user. */
export const MAX_EXTRA_ACCOUNTS = 1_000
/** The most cycles that can be paid at once. */
export const MAX_TERMS = 12
/** The most accounts that a user can name to keep. */
const MAX_KEPT = 500

export const CouponCode = Type.String({ minLength: 3, maxLength: 40, pattern: '^[A-Za-z0-9_-]+$' })

export const QuoteView = named(
  'Quote',
  Type.Object({
    currency: Currency,
    lines: Type.Array(
      Type.Object({
        kind: States('QuoteLineKind', 'What a line of a quote is for', {
          plan: 'The plan',
          extra_accounts: 'Social accounts beyond those of the plan',
          credits: 'AI credits',
          unused: 'Time that was paid and is replaced; negative',
          discount: 'What a coupon takes off; negative',
        }),
        description: Type.String(),
        amount: Type.Integer({ description: 'Minor units, without tax' }),
      }),
      { description: 'Add up to `net`' },
    ),
    discount: Type.Integer({ minimum: 0, description: 'What the coupon takes off. It is one of the lines.' }),
    net: Type.Integer({ minimum: 0, description: 'The sum without tax' }),
    taxes: Type.Array(Type.Object({ description: Type.String(), amount: Type.Integer() })),
    tax: Type.Integer({ minimum: 0, description: 'The sum of the taxes' }),
    total: Type.Integer({ minimum: 0, description: 'What is charged: `net` and `tax`' }),
  }),
)

export const SubscriptionView = named(
  'Subscription',
  Type.Object({
    plan: Plan,
    status: SubscriptionStatus,
    term: { ...TermSchema, description: 'The term of the next cycle' },
    isRecurring: Type.Boolean({ description: 'Whether another cycle is charged at `endDate`' }),
    startDate: Timestamp,
    endDate: { ...Timestamp, description: 'When what is paid or tried ends; on a free plan, the end of the month' },
    trialEndsAt: Nullable({ ...Timestamp, description: 'The end of the free trial, also when it is over' }),
    nextChargeAt: Nullable({ ...Timestamp, description: 'When the next charge is tried. Null if none is.' }),
    nextPlan: Nullable({ ...Plan, description: 'A smaller plan that begins at `endDate`' }),
    keepAccountIds: Nullable(
      Type.Array(Id, { description: 'The accounts that the user wants to keep active on the smaller plan' }),
    ),
    extraAccounts: Type.Integer({ minimum: 0, description: 'Social accounts beyond those of the plan' }),
    creditsRemaining: Type.Integer({ minimum: 0 }),
    creditsPerMonth: Type.Integer({ minimum: 0 }),
    credits: CreditBalance,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)
export type SubscriptionViewData = Static<typeof SubscriptionView>

export const CycleView = named(
  'BillingCycle',
  Type.Object({
    ...ResourceBase,
    kind: States('BillingCycleKind', 'How a cycle came about', {
      trial: 'The free trial',
      paid: 'It was paid, or a coupon covered all of it',
    }),
    status: States('BillingCycleStatus', 'Where a cycle is in time', {
      upcoming: 'It was paid ahead and has not begun',
      current: 'It runs now',
      replaced: 'It ended early, because a change of the subscription replaced it',
      ended: 'It is over',
    }),
    plan: Plan,
    term: TermSchema,
    extraAccounts: Type.Integer({ minimum: 0 }),
    startsAt: Timestamp,
    endsAt: { ...Timestamp, description: 'The end that was paid' },
    replacedAt: Nullable({ ...Timestamp, description: 'When another cycle replaced it' }),
    netAmount: Type.Integer({ minimum: 0, description: 'What counts for this cycle without tax, if it is replaced' }),
    currency: Currency,
    transactionId: Nullable({ ...Id, description: 'The payment. Null for a trial, and when nothing was to pay' }),
    quote: Nullable(QuoteView),
  }),
)
export type CycleData = Static<typeof CycleView>

export const ExtraAccountsView = named(
  'ExtraAccounts',
  Type.Object({
    extraAccounts: Type.Integer({ minimum: 0, description: 'How many are paid' }),
    ending: Type.Integer({ minimum: 0, description: 'How many of them end at `endDate`' }),
    endDate: Nullable(Timestamp),
    includedAccounts: Type.Integer({ minimum: 0, description: 'Social accounts that the plan includes' }),
    usedAccounts: Type.Integer({ minimum: 0, description: 'Social accounts that count against the plan' }),
    price: Nullable({ ...MoneyView, description: 'The price of one for a whole term. Null if the plan has none' }),
    term: TermSchema,
  }),
)

export const Usage = named(
  'BillingUsage',
  Type.Object({
    startDate: { ...Timestamp, description: 'When the current month of the plan began' },
    endDate: Timestamp,
    items: Type.Array(
      Type.Object({
        name: States('UsageName', 'What is metered', {
          workspaces: 'Workspaces that you own',
          socialAccounts: 'Connected social accounts in all workspaces',
          streamingMinutesPerMonth: 'Minutes of live streaming in this calendar month (UTC)',
          concurrentStreams: 'Streams that are live now',
          storageBytes: 'Bytes in the media libraries of all workspaces',
          aiCreditsPerMonth: 'AI credits of this month, with those that were bought',
          rendersPerMonth: 'Studio renderings and renditions that were requested in this calendar month (UTC)',
        }),
        used: Type.Number({ minimum: 0 }),
        limit: Type.Number({ minimum: 0 }),
        left: Type.Number({ minimum: 0 }),
        resetsAt: Nullable({ ...Timestamp, description: 'When `used` starts again at 0. Null if it does not.' }),
      }),
    ),
  }),
)

export const ProrationInput = Input({
  planName: Type.Optional(Plan),
  term: Type.Optional(TermSchema),
  extraAccounts: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_EXTRA_ACCOUNTS, description: 'How many there shall be in all' }),
  ),
  couponCode: Type.Optional(CouponCode),
})

/** A preview of an upgrade, or with `terms` of a renewal. */
export const PreviewInput = Input({
  ...ProrationInput.properties,
  terms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TERMS,
      description: 'To preview a renewal instead: how many cycles to pay. Only with `couponCode`.',
    }),
  ),
})

export const CouponPreviewInput = Input({
  code: CouponCode,
  planName: Plan,
  term: Type.Optional({ ...TermSchema, default: 'month' }),
})

export const ProrationView = named(
  'ProrationPreview',
  Type.Object({
    plan: Plan,
    term: TermSchema,
    extraAccounts: Type.Integer({ minimum: 0 }),
    startsAt: Timestamp,
    endsAt: { ...Timestamp, description: 'The end of what is paid after the change' },
    quote: QuoteView,
    missingProfileFields: Type.Array(OneOf(PROFILE_FIELDS), {
      description:
        'What the billing profile needs before this can be bought (PUT /api/billing/profile). While `country` is missing, the tax is unknown, and the quote has none.',
    }),
  }),
)

export const DowngradeInput = Input({
  planName: Plan,
  keepAccountIds: Type.Optional(
    Type.Array(Id, {
      maxItems: MAX_KEPT,
      description:
        'The accounts of your workspaces to keep active, at most as many as the smaller plan allows. When the plan changes, the others are archived, and a larger plan takes them from the archive again. Without this field all stay, but there cannot be more.',
    }),
  ),
})

export const CouponView = named(
  'Coupon',
  Type.Object({
    ...ResourceBase,
    code: Type.String(),
    percent: Nullable(Type.Number({ description: 'What it takes off, in percent. Null if it takes off an amount' })),
    amount: Nullable(
      Type.Integer({ description: 'What it takes off each cycle, in minor units. Null if it takes off a percentage' }),
    ),
    currency: Currency,
    cycles: Nullable(Type.Integer({ description: 'How many cycles it discounts. Null for all' })),
    plans: Type.Array(Plan, { description: 'The plans that it is for. Empty for all' }),
    maxUses: Nullable(Type.Integer({ description: 'How many customers can use it. Null for any number' })),
    usesCount: Type.Integer({ minimum: 0 }),
    expiresAt: Nullable(Timestamp),
    endedAt: Nullable({ ...Timestamp, description: 'When an administrator has ended it' }),
    createdBy: Id,
  }),
)
export type CouponData = Static<typeof CouponView>

export const NewCoupon = Input({
  code: { ...CouponCode, description: 'Letters, digits, `-` and `_`. Upper and lower case are the same.' },
  percent: Type.Optional(Type.Number({ minimum: 0.01, maximum: 100, multipleOf: 0.01 })),
  amount: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100_000_000,
      description: `Minor units of ${CURRENCY}. Either this or percent.`,
    }),
  ),
  cycles: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 120, description: 'How many cycles it discounts. All without it.' }),
  ),
  plans: Type.Optional(Type.Array(Plan, { maxItems: PLAN_NAMES.length, uniqueItems: true })),
  maxUses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  expiresAt: Type.Optional(InstantInput),
})
export type NewCouponData = Static<typeof NewCoupon>

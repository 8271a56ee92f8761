import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { list, ok } from '../../../core/reply.ts'
import { Envelope, Input, ListOf, Type, type Static } from '../../../core/schema.ts'
import { TrialUsed } from '../plans/index.ts'
import { CouponNotValid } from './errors.ts'
import type { BillingRequest } from './pricing.ts'
import {
  CouponPreviewInput,
  CycleView,
  DowngradeInput,
  ExtraAccountsView,
  MAX_EXTRA_ACCOUNTS,
  Plan,
  PreviewInput,
  ProrationView,
  SubscriptionView,
  TermSchema,
  Usage,
} from './schemas.ts'

export const getSubscription = operation({
  route: 'GET /api/subscriptions/current',
  summary: 'Get your subscription and credits',
  access: 'user',
  returns: { 200: Envelope(SubscriptionView) },
  example: {},
  handle: async ({ billing, caller }) => ok('Subscription', await billing.reader.subscription(caller.userId)),
})

export const listBillingCycles = operation({
  route: 'GET /api/billing/cycles',
  summary: 'List your billing cycles',
  description:
    'Newest first. A change in mid-cycle ends a cycle early and adds another one for the rest of the time. Quotes are in the language of Accept-Language, or else in yours.',
  access: 'user',
  query: PageQuery,
  languages: true,
  returns: { 200: ListOf(CycleView) },
  example: { query: { limit: 20 } },
  handle: async ({ acceptLanguage, billing, caller, query }) =>
    list('Billing cycles', await billing.reader.cycles(caller.userId, query, acceptLanguage)),
})

export const getBillingUsage = operation({
  route: 'GET /api/users/me/usage',
  summary: 'Get what you have used, and the limits',
  access: 'user',
  returns: { 200: Envelope(Usage) },
  example: {},
  handle: async ({ billing, caller }) => ok('Usage', await billing.usage.of(caller.userId)),
})

export const selectPlan = operation({
  route: 'POST /api/billing/select-plan',
  summary: 'Choose a plan after the sign-up',
  description:
    'Starts a free trial of 14 days. At its end, the first cycle is charged, unless the subscription is cancelled before. During the trial, the plan can be changed, and the limits are `trialLimits` of GET /api/plans. There is one trial for a person and a card.',
  access: 'user',
  body: Input({ planName: Plan, term: Type.Optional({ ...TermSchema, default: 'month' }) }),
  returns: { 200: Envelope(SubscriptionView) },
  errors: [Conflict, TrialUsed],
  example: { body: { planName: 'pro', term: 'month' } },
  handle: async ({ billing, body, caller }) => {
    await billing.subscriptions.select(caller.userId, body.planName, body.term ?? 'month')
    return ok('Plan selected', await billing.reader.subscription(caller.userId))
  },
})

export const previewProration = operation({
  route: 'POST /api/billing/proration-preview',
  summary: 'Preview what an upgrade or a renewal costs now',
  description:
    'Unused time of the current cycle counts, to the second. The charge is calculated in the same way at the moment of the upgrade. The lines of the quote are in the language of Accept-Language, or else in yours.',
  access: 'user',
  body: PreviewInput,
  languages: true,
  returns: { 200: Envelope(ProrationView) },
  errors: [Conflict, CouponNotValid],
  example: { body: { planName: 'pro', term: 'month' } },
  handle: async ({ acceptLanguage, billing, body, caller }) =>
    ok('Proration', await billing.reader.preview(caller.userId, wantedOf(body), acceptLanguage)),
})

/** @throws AppError validation_failed for a renewal that would change something */
function wantedOf({ terms, ...change }: Static<typeof PreviewInput>): BillingRequest {
  if (terms === undefined) return { kind: 'upgrade', ...change }
  const { couponCode, ...others } = change
  if (Object.keys(others).length === 0) return { kind: 'renewal', terms, couponCode }
  const message = 'cannot be combined with planName, term or extraAccounts'
  throw ValidationFailed({ errors: [{ path: '/body/terms', code: 'combined', message }] })
}

export const previewCoupon = operation({
  route: 'POST /api/billing/coupon-preview',
  summary: 'Preview what a coupon takes off',
  description:
    'The coupon is not used by this. The lines of the quote are in the language of Accept-Language, or else in yours.',
  access: 'user',
  body: CouponPreviewInput,
  languages: true,
  returns: { 200: Envelope(ProrationView) },
  errors: [Conflict, CouponNotValid],
  example: { body: { code: 'WELCOME', planName: 'pro', term: 'year' } },
  handle: async ({ acceptLanguage, billing, body: { code, ...change }, caller }) => {
    const request: BillingRequest = { kind: 'upgrade', ...change, couponCode: code }
    return ok('Coupon', await billing.reader.preview(caller.userId, request, acceptLanguage))
  },
})

export const cancelSubscription = operation({
  route: 'POST /api/subscriptions/cancel',
  summary: 'Cancel your subscription at the end of what is paid',
  description:
    'Nothing is charged any more. The plan stays until `endDate`. Nothing is deleted when it ends. While a payment is overdue, the plan ends at once.',
  access: 'user',
  returns: { 200: Envelope(SubscriptionView) },
  errors: [Conflict],
  example: {},
  handle: async ({ billing, caller }) => {
    await billing.subscriptions.setRecurring(caller.userId, false)
    return ok('Subscription cancelled', await billing.reader.subscription(caller.userId))
  },
})

export const setRecurring = operation({
  route: 'PATCH /api/subscriptions/recurring',
  summary: 'Turn recurring billing on or off',
  description: 'Turning it off is the same as cancelling. Before `endDate`, it can be turned on again.',
  access: 'user',
  body: Input({ enabled: Type.Boolean() }),
  returns: { 200: Envelope(SubscriptionView) },
  errors: [Conflict],
  example: { body: { enabled: false } },
  handle: async ({ billing, body, caller }) => {
    await billing.subscriptions.setRecurring(caller.userId, body.enabled)
    return ok('Recurring billing changed', await billing.reader.subscription(caller.userId))
  },
})

export const setRenewalTerm = operation({
  route: 'PATCH /api/subscriptions/term',
  summary: 'Choose the term of the next renewal',
  access: 'user',
  body: Input({ term: TermSchema }),
  returns: { 200: Envelope(SubscriptionView) },
  errors: [Conflict],
  example: { body: { term: 'year' } },
  handle: async ({ billing, body, caller }) => {
    await billing.subscriptions.setTerm(caller.userId, body.term)
    return ok('Term changed', await billing.reader.subscription(caller.userId))
  },
})

export const downgradeSubscription = operation({
  route: 'POST /api/subscriptions/downgrade',
  summary: 'Move to a smaller plan at the end of what is paid',
  description:
    'With `keepAccountIds`, the other social accounts are archived then. What else exceeds the smaller plan stays, but cannot grow: GET /api/limits/status shows it. Nothing is deleted.',
  access: 'user',
  body: DowngradeInput,
  returns: { 200: Envelope(SubscriptionView) },
  errors: [Conflict],
  example: { body: { planName: 'starter' } },
  handle: async ({ billing, body, caller }) => {
    await billing.subscriptions.downgrade(caller.userId, body.planName, body.keepAccountIds ?? null)
    return ok('Downgrade planned', await billing.reader.subscription(caller.userId))
  },
})

export const cancelDowngrade = operation({
  route: 'POST /api/subscriptions/downgrade/cancel',
  summary: 'Stay on the current plan after all',
  description: 'Repeating it changes nothing.',
  access: 'user',
  returns: { 200: Envelope(SubscriptionView) },
  example: {},
  handle: async ({ billing, caller }) => {
    await billing.subscriptions.cancelDowngrade(caller.userId)
    return ok('Downgrade cancelled', await billing.reader.subscription(caller.userId))
  },
})

export const getExtraAccounts = operation({
  route: 'GET /api/subscriptions/extra-accounts',
  summary: 'Get your extra social accounts',
  access: 'user',
  returns: { 200: Envelope(ExtraAccountsView) },
  example: {},
  handle: async ({ billing, caller: { userId } }) =>
    ok('Extra accounts', await billing.reader.extraAccounts(userId, await billing.usedAccounts(userId))),
})

const Count = Type.Integer({ minimum: 1, maximum: MAX_EXTRA_ACCOUNTS })

export const removeExtraAccounts = operation({
  route: 'POST /api/subscriptions/extra-accounts/remove',
  summary: 'Remove extra social accounts from the next cycle on',
  access: 'user',
  body: Input({ count: Count }),
  returns: { 200: Envelope(ExtraAccountsView) },
  errors: [Conflict],
  example: { body: { count: 1 } },
  handle: async ({ billing, body, caller: { userId } }) => {
    await billing.subscriptions.removeExtraAccounts(userId, body.count)
    return ok('Removal planned', await billing.reader.extraAccounts(userId, await billing.usedAccounts(userId)))
  },
})

export const cancelExtraAccountRemoval = operation({
  route: 'POST /api/subscriptions/extra-accounts/cancel-removal',
  summary: 'Keep the extra social accounts that would end',
  access: 'user',
  returns: { 200: Envelope(ExtraAccountsView) },
  errors: [Conflict],
  example: {},
  handle: async ({ billing, caller: { userId } }) => {
    await billing.subscriptions.keepExtraAccounts(userId)
    return ok('Removal cancelled', await billing.reader.extraAccounts(userId, await billing.usedAccounts(userId)))
  },
})

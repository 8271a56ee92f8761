import type { Services } from '../../../core/services.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Foundation } from '../../../foundation.ts'
import { Checkout } from './checkout.ts'
import { Coupons } from './coupons.ts'
import { AccountFitting } from './fitting.ts'
import { CreditPurpose } from './credit-purpose.ts'
import { Pricing, type TaxesOf } from './pricing.ts'
import { SubscriptionPurpose } from './purpose.ts'
import { BillingReader } from './reader.ts'
import { Renewals } from './renewals.ts'
import { Settlement } from './settlement.ts'
import { Subscriptions } from './subscriptions.ts'
import { Trials } from './trials.ts'
import { BillingUsage } from './usage.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly billing: ReturnType<typeof composeBilling>['services']['billing']
  }
}

/** Builds the services of the domain. */
export function composeBilling(
  foundation: Foundation,
  {
    assets,
    invoices,
    ledger,
    payments,
    planUses,
    plans,
    socialAccounts,
    streams,
  }: Pick<
    Services,
    'assets' | 'invoices' | 'ledger' | 'payments' | 'planUses' | 'plans' | 'socialAccounts' | 'streams'
  >,
) {
  const { clock, database, jobs, log, secret, turns } = foundation
  const trials = new Trials(clock, secret)
  const fitting = new AccountFitting(database, jobs, turns, plans)
  const coupons = new Coupons(database, clock)
  const { issued, profiles, taxes } = invoices
  const taxesOf: TaxesOf = (sql, userId, at) => taxes.of(sql, userId, at)
  const pricing = new Pricing(clock, plans, coupons, taxesOf)
  const settlement = new Settlement(clock, plans, coupons, fitting)
  const { charges, methods, purposes, transactions } = payments
  const balanceOf = (sql: Sql, userId: string, currency: string) => ledger.wallet.balanceOf(sql, userId, currency)
  const checkout = new Checkout({
    database,
    pricing,
    settlement,
    coupons,
    charges,
    methods,
    balanceOf,
    transactionOf: (sql, id) => transactions.find(sql, id),
  })
  const renewals = new Renewals({
    database,
    clock,
    log: log.child({ part: 'billing' }),
    jobs,
    plans,
    pricing,
    settlement,
    charger: checkout,
    profiles,
  })
  purposes.register(
    'subscription',
    new SubscriptionPurpose({
      plans,
      pricing,
      settlement,
      coupons,
      renewals,
      invoices: issued,
      profiles,
      balanceOf,
    }),
  )
  purposes.register('credits', new CreditPurpose(clock, ledger, issued, profiles, taxesOf))
  methods.registerUse(async (sql, userId) => {
    const { periodEnd, status } = await plans.subscription(sql, userId)
    return periodEnd !== null && status !== 'cancelled'
  })
  methods.registerCheck(async (sql, userId, card) => trials.save(sql, await plans.subscription(sql, userId), card))
  const usedAccounts = async (userId: string) => usedOf(await socialAccounts.limits.statusOf(userId), 'socialAccounts')
  const billing = {
    checkout,
    coupons,
    pricing,
    renewals,
    settlement,
    reader: new BillingReader(foundation, { ledger, plans, pricing, profiles }),
    fitting,
    subscriptions: new Subscriptions({
      database,
      clock,
      plans,
      fitting,
      expire: (tx, userId) => renewals.expire(tx, userId),
      beginTrial: async (tx, userId) => trials.begin(tx, userId, await methods.allOf(tx, userId)),
      ownAccounts: (userId, ids) => socialAccounts.limits.owned(userId, ids),
    }),
    usedAccounts,
    usage: new BillingUsage(database, clock, plans, {
      workspaces: async (userId) => usedOf(await socialAccounts.limits.statusOf(userId), 'workspaces'),
      socialAccounts: usedAccounts,
      streamingMinutesPerMonth: async (userId) => (await streams.usage.of(userId)).minutesUsed,
      concurrentStreams: async (userId) => (await streams.usage.of(userId)).activeStreams,
      storageBytes: async (userId) => {
        const { files, held, renditions } = await assets.quota.usedBy(database, userId)
        return files + held + renditions
      },
      aiCreditsPerMonth: async (userId) => {
        const { creditsPerMonth, creditsRemaining } = await plans.subscriptionOf(userId)
        return Math.max(0, creditsPerMonth - creditsRemaining)
      },
      rendersPerMonth: (userId) => planUses.usedBy(database, userId, 'rendersPerMonth'),
    }),
  }
  return { services: { billing } }
}

function usedOf(
  { quotas }: { readonly quotas: readonly { readonly kind: string; readonly used: number }[] },
  kind: string,
): number {
  return quotas.find((quota) => quota.kind === kind)?.used ?? 0
}

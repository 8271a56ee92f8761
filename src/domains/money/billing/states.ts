import { DAY } from '../../../core/clock.ts'
import type { SubscriptionData } from '../../identity/users/index.ts'

export type SubscriptionState = SubscriptionData['status']

/** What happens to a subscription. */
export const SUBSCRIPTION_EVENTS = [
  /** A trial of a paid plan begins, or continues with another plan. */
  'trial_started',
  /** A paid plan begins with a full cycle. */
  'started',
  /** The current cycle was changed and paid: a larger plan, more accounts. */
  'changed',
  /** The next cycle was paid. */
  'renewed',
  /** The next cycle was due, and the charge failed. */
  'charge_failed',
  /** The user does not want another cycle. */
  'cancelled',
  /** The user wants further cycles after all. */
  'resumed',
  /** The same, while the trial runs. */
  'trial_resumed',
  /** The paid time is over and nothing was paid. */
  'ended',
] as const
export type SubscriptionEvent = (typeof SUBSCRIPTION_EVENTS)[number]

/**
 * The state machine of subscriptions. An event that a state does not list cannot happen in it. The free plan is `active`
 * until a paid plan was used, and `expired` afterwards.
 */
export const TRANSITIONS: Readonly<Record<SubscriptionState, Partial<Record<SubscriptionEvent, SubscriptionState>>>> = {
  trialing: {
    trial_started: 'trialing',
    started: 'active',
    // The first cycle is paid: when the trial ends, or ahead of its end.
    renewed: 'active',
    charge_failed: 'past_due',
    cancelled: 'cancelled',
    ended: 'expired',
  },
  active: {
    trial_started: 'trialing',
    started: 'active',
    changed: 'active',
    renewed: 'active',
    charge_failed: 'past_due',
    cancelled: 'cancelled',
  },
  past_due: {
    started: 'active',
    renewed: 'active',
    charge_failed: 'past_due',
    // The paid time is over already, so there is no later end.
    cancelled: 'expired',
    ended: 'expired',
  },
  cancelled: {
    started: 'active',
    changed: 'cancelled',
    renewed: 'cancelled',
    resumed: 'active',
    trial_resumed: 'trialing',
    ended: 'expired',
  },
  expired: {
    started: 'active',
  },
}

/** The state after an event; undefined if the event cannot happen in this state. */
export function after(state: SubscriptionState, event: SubscriptionEvent): SubscriptionState | undefined {
  return TRANSITIONS[state][event]
}

/** Days after the first failed charge on which the charge is repeated. After the last one, the subscription ends. */
export const DUNNING_DAYS = [1, 3, 5, 7] as const

/**
 * When a failed charge is repeated; undefined after the last time. Times that passed while no node was running are
 * skipped.
 * @param failedSince the first failed charge
 */
export function nextCharge(failedSince: number, now: number): number | undefined {
  return DUNNING_DAYS.map((days) => failedSince + days * DAY).find((at) => at > now)
}

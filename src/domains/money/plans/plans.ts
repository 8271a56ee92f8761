import type { PlanName } from '../../identity/users/index.ts'

/** The plans: what they cost and what they allow. No other code depends on a particular plan. */

/** How long a payment lasts. */
export const TERMS = ['month', 'quarter', 'year'] as const
export type Term = (typeof TERMS)[number]

/** The months of each term. */
export const TERM_MONTHS: Readonly<Record<Term, number>> = { month: 1, quarter: 3, year: 12 }

/** An amount in minor units (cents) of an ISO 4217 currency. */
export interface Money {
  readonly amount: number
  readonly currency: string
}

/** What a plan allows. Unless its description says otherwise, a limit is for everything that the payer owns. */
export const LIMITS = {
  workspaces: 'Workspaces that one user owns',
  members: 'Members of one workspace, including open invitations',
  socialAccounts: 'Connected social accounts in all workspaces',
  streams: 'Streams of one workspace',
  streamDestinations: 'Destinations of one stream',
  rtmpDestinations: 'RTMP destinations of one workspace',
  folders: 'Folders in the media library of one workspace',
  openUploads: 'Unfinished uploads of one workspace',
  tags: 'Distinct tags of assets in one workspace',
  channels: 'Channels of one workspace, including archived ones',
  directConversations: 'Direct conversations of one workspace',
  groups: 'Groups of one workspace',
  roles: 'Custom roles of one workspace',
  webhooks: 'Webhooks of one workspace',
  openPosts: 'Posts of one workspace that are drafts, wait for approval or are scheduled',
  recurringPosts: 'Recurring posts of one workspace that have not ended',
  reportSchedules: 'Schedules of reports of one workspace',
  analyticsDays:
    'Days for which each figure that a platform reported is kept. The days, weeks and months are kept longer',
  streamingMinutesPerMonth: 'Minutes of live streaming per month in all workspaces',
  concurrentStreams: 'Streams that are live at the same time in all workspaces',
  storageBytes: 'Bytes in the media libraries of all workspaces',
  aiCreditsPerMonth: 'AI credits per month',
  rendersPerMonth: 'Studio renderings and renditions of files that are requested per month in all workspaces',
} as const

export type LimitName = keyof typeof LIMITS
export type PlanLimits = Readonly<Record<LimitName, number>>

export interface Plan {
  readonly name: PlanName
  readonly title: string
  readonly summary: string
  /** The price of the whole term, not of its months. */
  readonly prices: Readonly<Record<Term, Money>>
  /** The price of one more social account than the plan includes, for a whole term. Null if none can be added. */
  readonly extraAccountPrices: Readonly<Record<Term, Money>> | null
  readonly limits: PlanLimits
}

/** The limits of an installation without limits: more than anyone needs, but still safe integers. */
export const UNLIMITED = Object.fromEntries(
  Object.keys(LIMITS).map((name) => [name, name === 'storageBytes' ? 1_000_000_000_000_000 : 1_000_000_000]),
) as PlanLimits

/** The plan of new users. With `unlimited`, plans have no limits. */
export type DefaultPlan = PlanName | 'unlimited'

const GB = 1_000_000_000

/** Limits of a free trial, by name. What is not listed is as on the plan that is tried. */
export type TrialLimits = Readonly<Partial<Record<LimitName, number>>>

/**
 * What a trial allows of everything that costs the operator money: anyone can start one without a card. `TRIAL_LIMITS`
 * changes it. See `trialOf` for how it applies to a plan.
 */
export const DEFAULT_TRIAL_LIMITS: TrialLimits = {
  reportSchedules: 3,
  streamDestinations: 10,
  streamingMinutesPerMonth: 600,
  concurrentStreams: 4,
  storageBytes: 10 * GB,
  aiCreditsPerMonth: 50,
  rendersPerMonth: 60,
}

/**
 * The limits of a trial: those of the trial, but never more than the plan that is tried allows, and never less than the
 * plan that costs nothing.
 */
export function trialOf(plan: PlanLimits, base: PlanLimits, trial: TrialLimits): PlanLimits {
  const limited = Object.entries(plan).map(([key, allowed]) => {
    const name = key as LimitName
    const most = trial[name]
    return [name, most === undefined ? allowed : Math.min(allowed, Math.max(most, base[name]))]
  })
  return Object.fromEntries(limited) as PlanLimits
}

/** A quarter costs 10 % less than three months. A year costs as much as ten months. */
function pricedAt(month: number): Readonly<Record<Term, Money>> {
  const usd = (amount: number): Money => ({ amount: Math.round(amount), currency: 'USD' })
  return { month: usd(month), quarter: usd(month * 3 * 0.9), year: usd(month * 10) }
}

export const PLANS: Readonly<Record<PlanName, Plan>> = {
  free: {
    name: 'free',
    title: 'Free',
    summary: 'Publish, and stream to ten destinations at once.',
    prices: pricedAt(0),
    extraAccountPrices: null,
    limits: {
      workspaces: 3,
      members: 5,
      socialAccounts: 5,
      streams: 500,
      streamDestinations: 10,
      rtmpDestinations: 100,
      folders: 200,
      openUploads: 50,
      tags: 200,
      channels: 100,
      directConversations: 200,
      groups: 20,
      roles: 20,
      webhooks: 5,
      openPosts: 1_000,
      recurringPosts: 20,
      reportSchedules: 3,
      analyticsDays: 90,
      streamingMinutesPerMonth: 600,
      concurrentStreams: 4,
      storageBytes: 5 * GB,
      aiCreditsPerMonth: 20,
      rendersPerMonth: 50,
    },
  },
  starter: {
    name: 'starter',
    title: 'Starter',
    summary: 'For one person who publishes every day.',
    prices: pricedAt(1_900),
    extraAccountPrices: pricedAt(300),
    limits: {
      workspaces: 5,
      members: 10,
      socialAccounts: 15,
      streams: 2_000,
      streamDestinations: 15,
      rtmpDestinations: 200,
      folders: 500,
      openUploads: 100,
      tags: 500,
      channels: 200,
      directConversations: 500,
      groups: 50,
      roles: 30,
      webhooks: 10,
      openPosts: 5_000,
      recurringPosts: 100,
      reportSchedules: 20,
      analyticsDays: 400,
      streamingMinutesPerMonth: 1_200,
      concurrentStreams: 6,
      storageBytes: 25 * GB,
      aiCreditsPerMonth: 250,
      rendersPerMonth: 500,
    },
  },
  pro: {
    name: 'pro',
    title: 'Pro',
    summary: 'For a team with several brands.',
    prices: pricedAt(4_900),
    extraAccountPrices: pricedAt(300),
    limits: {
      workspaces: 15,
      members: 30,
      socialAccounts: 50,
      streams: 20_000,
      streamDestinations: 25,
      rtmpDestinations: 500,
      folders: 2_000,
      openUploads: 200,
      tags: 1_000,
      channels: 500,
      directConversations: 5_000,
      groups: 100,
      roles: 50,
      webhooks: 50,
      openPosts: 50_000,
      recurringPosts: 1_000,
      reportSchedules: 100,
      analyticsDays: 800,
      streamingMinutesPerMonth: 6_000,
      concurrentStreams: 10,
      storageBytes: 150 * GB,
      aiCreditsPerMonth: 1_500,
      rendersPerMonth: 3_000,
    },
  },
  business: {
    name: 'business',
    title: 'Business',
    summary: 'For agencies and broadcasters.',
    prices: pricedAt(14_900),
    extraAccountPrices: pricedAt(200),
    limits: {
      workspaces: 100,
      members: 200,
      socialAccounts: 300,
      streams: 1_000_000,
      streamDestinations: 50,
      rtmpDestinations: 2_000,
      folders: 2_000,
      openUploads: 500,
      tags: 1_000,
      channels: 500,
      directConversations: 50_000,
      groups: 200,
      roles: 50,
      webhooks: 100,
      openPosts: 1_000_000,
      recurringPosts: 10_000,
      reportSchedules: 1_000,
      analyticsDays: 1_900,
      streamingMinutesPerMonth: 45_000,
      concurrentStreams: 20,
      storageBytes: 1_000 * GB,
      aiCreditsPerMonth: 10_000,
      rendersPerMonth: 20_000,
    },
  },
}

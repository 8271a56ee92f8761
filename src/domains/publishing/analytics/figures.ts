import { States } from '../../../core/schema.ts'
import type { AccountFigure, ContentFigure } from '../../../platforms/analytics.ts'

/** The figures of accounts: what the platform counts at a time. */
export const ACCOUNT_FIGURES = ['followers', 'following', 'contentCount'] as const satisfies readonly AccountFigure[]

/** The figures of posts, since their publication. */
export const CONTENT_FIGURES = [
  'views',
  'reach',
  'likes',
  'comments',
  'shares',
  'saves',
  'clicks',
  'watchSeconds',
] as const satisfies readonly ContentFigure[]

/** The figures that `engagements` adds up. */
export const ENGAGEMENTS = ['likes', 'comments', 'shares', 'saves'] as const satisfies readonly ContentFigure[]

export const FIGURES = [...ACCOUNT_FIGURES, ...CONTENT_FIGURES] as const
export type FigureName = (typeof FIGURES)[number]

export function isAccountFigure(name: FigureName): name is AccountFigure {
  return (ACCOUNT_FIGURES as readonly string[]).includes(name)
}

export type ContentOrigin = 'crier' | 'elsewhere'

/** Why a value is missing. */
export const GAP_CODES = {
  not_reported: 'The platform does not report this figure',
  not_started: 'It is before the first time that the platform was asked',
  not_collected: 'The platform was not asked in this time',
  refused: 'The platform refused the request. `message` says why',
  unavailable: 'The platform did not answer as expected. `message` says why',
  limited: 'The platform limits how often it can be asked',
  not_kept: 'It was reported, but the plan no longer keeps the reports of this time',
  not_connected: 'The account was not connected, so the platform could not be asked',
  future: 'It has not happened yet',
} as const
export type GapCode = keyof typeof GAP_CODES

export const GapCodeSchema = States('AnalyticsGapReason', 'Why a value is missing', GAP_CODES)

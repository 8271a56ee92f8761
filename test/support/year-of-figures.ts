import { DAY, HOUR } from '../../src/core/clock.ts'
import type { Analytics } from '../../src/platforms/analytics.ts'
import { PlatformError } from '../../src/platforms/error-kinds.ts'
import { randomOf } from './random.ts'

/** A value as the platform reported it. */
export interface Reported {
  readonly at: number
  readonly value: number
}

/** A post of the year. */
interface YearPost {
  readonly text: string
  readonly publishedAt: number
  /** By figure, in the order of time. */
  readonly reports: Record<string, Reported[]>
}

const ACCOUNT_FIGURES = ['followers', 'following', 'contentCount'] as const
const CONTENT_FIGURES = ['views', 'reach', 'likes', 'comments', 'shares', 'saves', 'clicks', 'watchSeconds'] as const
const POSTS = 8
const PAGE = 50

/**
 * A year of an account at a simulated platform, with the behavior of real ones: it is unavailable for days, limits
 * calls, corrects figures, and resets the followers once. It records its replies.
 */
export class YearOfFigures {
  /** When the account is read. */
  readonly readings: readonly number[]
  readonly posts: readonly YearPost[]
  /** What the platform replied of the account, by figure. */
  readonly account: Readonly<Record<(typeof ACCOUNT_FIGURES)[number], Reported[]>> = {
    followers: [],
    following: [],
    contentCount: [],
  }
  /** Follower counts that it reports at the end, with its own times: some for days without a report. */
  readonly late: readonly Reported[]
  readonly #start: number
  readonly #random: () => number

  constructor(seed: number, start: number, end: number) {
    const random = randomOf(seed)
    this.#start = start
    this.#random = random
    const readings: number[] = []
    // More than a day apart at most times, so that days without a reading occur.
    for (let at = start + HOUR; at < end; at += (20 + 24 * random()) * HOUR) readings.push(Math.floor(at))
    this.readings = readings
    this.posts = Array.from({ length: POSTS }, (_, index) => ({
      text: `Post ${String(index).padStart(2, '0')}`,
      // The first two are older than the account here.
      publishedAt: Math.floor(start + (index - 2) * 45 * DAY + random() * 20 * DAY),
      reports: {},
    }))
    this.late = Array.from({ length: 12 }, (_, index) => ({
      at: Math.floor(start + (index + 1) * 27 * DAY + random() * 5 * DAY),
      value: 5_000 + index,
    }))
  }

  /** When the account was first read with success. */
  get startedAt(): number {
    return this.account.followers[0]?.at ?? Infinity
  }

  /** The platform as it replies at a time. */
  platform(now: number) {
    const day = Math.floor((now - this.#start) / DAY)
    const analytics: Analytics = {
      accountFigures: ACCOUNT_FIGURES,
      contentFigures: CONTENT_FIGURES,
      audience: [],
      readAccount: () => {
        if (day >= 100 && day < 110) throw new PlatformError('network', 'The platform', { detail: 'it is away' })
        if (day >= 150 && day < 153) throw new PlatformError('rate_limited', 'The platform', { retryAfter: 900 })
        const followers = this.#followersOn(day)
        const found = { followers, following: 300 - Math.floor(day / 9), contentCount: 40 + Math.floor(day / 4) }
        for (const figure of ACCOUNT_FIGURES) this.account[figure].push({ at: now, value: found[figure] })
        return Promise.resolve(found)
      },
      listContent: () => {
        const items = this.posts
          .filter(({ publishedAt }) => publishedAt <= now)
          .toReversed()
          .slice(0, PAGE)
          .map((post) => ({
            post: { id: post.text, url: null },
            publishedAt: new Date(post.publishedAt).toISOString(),
            text: post.text,
            insights: this.#insights(post, now),
          }))
        return Promise.resolve({ items, next: null })
      },
    }
    return { analytics }
  }

  #followersOn(day: number): number {
    const base = day < 200 ? 1_000 + day * 5 : 40 + (day - 200) * 9
    return base + Math.floor(this.#random() * 20)
  }

  #insights({ publishedAt, reports }: YearPost, now: number) {
    const age = (now - publishedAt) / DAY
    const likes = Math.floor(200 * (1 - Math.exp(-age / 3)) * (this.#random() < 0.05 ? 0.9 : 1))
    const found = {
      views: likes * 13,
      reach: likes * 9,
      likes,
      comments: Math.floor(likes / 7),
      shares: Math.floor(likes / 11),
      saves: Math.floor(likes / 17),
      clicks: Math.floor(likes / 5),
      watchSeconds: likes * 31,
    }
    for (const [figure, value] of Object.entries(found)) (reports[figure] ??= []).push({ at: now, value })
    return found
  }
}

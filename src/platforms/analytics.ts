import type { AccountContext } from './platform.ts'
import type { Insights, RemotePost } from './publishing.ts'

/** A figure of an account: the current value at the platform. */
export type AccountFigure = 'followers' | 'following' | 'contentCount'
export type AccountFigures = Partial<Record<AccountFigure, number>>
/** A figure of a post: the total since its publication. */
export type ContentFigure = keyof Insights

/** A post of the account as its platform lists it, wherever it was published from. */
export interface ListedContent {
  readonly post: RemotePost
  /** ISO 8601. */
  readonly publishedAt: string
  /** Plain text, or a title. */
  readonly text: string
  /** The address of a small picture. Reports show it. */
  readonly pictureUrl?: string | null | undefined
  /** The figures that the list contains. */
  readonly insights: Insights
}

export interface ContentPage {
  readonly items: readonly ListedContent[]
  /** Where the next page begins. Null after the last one. */
  readonly next: string | null
}

/** By what an audience is divided. */
export type AudienceDimension = 'age' | 'gender' | 'country' | 'city'

/** The followers of an account in groups. A dimension that the platform does not report is left out. */
export type Audience = Partial<Record<AudienceDimension, readonly { readonly group: string; readonly count: number }[]>>

/** What a platform reports of accounts and their content, and why it does not report the rest. */
export interface Analytics {
  /** The figures that `account` returns. */
  readonly accountFigures: readonly AccountFigure[]
  /** The figures of posts that `content` and `Publishing.insights` return. */
  readonly contentFigures: readonly ContentFigure[]
  readonly audience: readonly AudienceDimension[]
  /** Why something is missing, as a sentence. */
  readonly missing?: Partial<Record<'account' | 'content' | 'listing' | 'audience', string>>
  /** The shortest time between two readings of an account, in milliseconds. An hour when absent. */
  readonly everyMs?: number
  /** @throws PlatformError */
  readonly readAccount?: (context: AccountContext) => Promise<AccountFigures>
  /**
   * The newest posts first, without replies and reposts.
   * @param cursor `next` of the page before
   * @throws PlatformError
   */
  readonly listContent?: (context: AccountContext, cursor?: string) => Promise<ContentPage>
  /** @throws PlatformError */
  readonly readAudience?: (context: AccountContext) => Promise<Audience>
}

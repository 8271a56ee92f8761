import type { UsageState } from '../meta/graph.ts'
import { newOAuthState, type OAuthState } from '../oauth-server.ts'

export interface FakeAccount {
  readonly id: string
  readonly username: string
  type: 'BUSINESS' | 'MEDIA_CREATOR' | 'PERSONAL'
  /** Set by tests. */
  followers?: number
}

export interface FakeContainer {
  readonly id: string
  readonly account: string
  readonly kind: 'IMAGE' | 'VIDEO' | 'REELS' | 'STORIES' | 'CAROUSEL'
  readonly isItem: boolean
  readonly url: string | null
  readonly caption: string
  readonly altText: string | null
  readonly children: readonly string[]
  readonly createdAt: number
  /** How often the server still says that it processes the file. */
  pending: number
  /** The subcode of a failure; null when processing works. */
  failure: string | null
  /** The post, or for an item its carousel. */
  usedBy: string | null
}

export interface FakeMedia {
  readonly id: string
  readonly account: string
  readonly kind: FakeContainer['kind']
  readonly caption: string
  readonly files: readonly string[]
  readonly at: number
}

export interface FakeComment {
  readonly id: string
  readonly account: string
  readonly media: string
  readonly text: string
  readonly at: number
}

export interface State {
  readonly oauth: OAuthState
  readonly accounts: Record<string, FakeAccount>
  readonly containers: Record<string, FakeContainer>
  readonly media: FakeMedia[]
  readonly comments: FakeComment[]
  readonly usage: UsageState
  next: number
}

export function newState(): State {
  return {
    oauth: newOAuthState(),
    accounts: {},
    containers: {},
    media: [],
    comments: [],
    usage: { since: 0, calls: 0 },
    next: 17_841_400_000,
  }
}

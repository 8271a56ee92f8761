import type { UsageState } from '../meta/graph.ts'
import { newOAuthState, type OAuthState } from '../oauth-server.ts'

export interface FakeProfile {
  readonly id: string
  readonly username: string
  /** The times of deletions, for the quota. */
  readonly deletions: number[]
  /** None when absent. */
  followers?: number
}

export interface FakeContainer {
  readonly id: string
  readonly profile: string
  readonly kind: 'TEXT' | 'IMAGE' | 'VIDEO' | 'CAROUSEL'
  readonly isItem: boolean
  readonly url: string | null
  readonly text: string
  readonly children: readonly string[]
  readonly replyTo: string | null
  readonly createdAt: number
  /** How often the server still says that it processes the container. */
  pending: number
  /** Why processing fails; null when it does not. */
  failure: string | null
  /** The post, or for an item its carousel. */
  usedBy: string | null
}

export interface FakeThread {
  readonly id: string
  readonly profile: string
  readonly kind: FakeContainer['kind'] | 'REPOST_FACADE'
  readonly text: string
  readonly files: readonly string[]
  readonly replyTo: string | null
  readonly at: number
}

export interface State {
  readonly oauth: OAuthState
  readonly profiles: Record<string, FakeProfile>
  readonly containers: Record<string, FakeContainer>
  readonly threads: FakeThread[]
  readonly usage: UsageState
  next: number
}

export function newState(): State {
  return {
    oauth: newOAuthState(),
    profiles: {},
    containers: {},
    threads: [],
    usage: { since: 0, calls: 0 },
    next: 17_889_600_000,
  }
}

import type { UsageState } from '../meta/graph.ts'
import { newOAuthState, type OAuthState } from '../oauth-server.ts'

export interface FakeUser {
  readonly id: string
  readonly name: string
  /** Permissions by name. */
  permissions: Record<string, 'granted' | 'declined'>
}

export interface FakePage {
  readonly id: string
  readonly name: string
  readonly username: string
  /** The user that manages it. */
  readonly user: string
  readonly tasks: readonly string[]
  /** Set by tests. */
  followers?: number
}

export interface FakePhoto {
  readonly id: string
  readonly page: string
  readonly type: string
  readonly altText: string | null
  /** The post that it is part of. */
  post: string | null
}

export interface FakeVideo {
  readonly id: string
  readonly page: string
  /** Bytes, as the upload announced them. */
  size: number | null
  received: number
  description: string
  /** How often the server still says that it processes the video. */
  pending: number
  /** Why processing fails; null when it does not. */
  failure: string | null
  /** Whether the upload is for a story. */
  readonly isStory?: boolean
  /** When it was published, in milliseconds since the epoch. */
  publishedAt: number | null
}

export interface FakePost {
  readonly id: string
  readonly page: string
  message: string
  readonly link: string | null
  readonly photos: readonly string[]
  readonly at: number
}

export interface FakeComment {
  readonly id: string
  readonly page: string
  readonly object: string
  message: string
  readonly at: number
}

/** A story of a page. */
export interface FakeStory {
  readonly id: string
  readonly page: string
  /** The photo or video. */
  readonly media: string
  readonly type: string
  readonly at: number
}

export interface State {
  readonly oauth: OAuthState
  readonly users: Record<string, FakeUser>
  readonly pages: Record<string, FakePage>
  /** The page of a page token. */
  readonly pageTokens: Record<string, string>
  readonly photos: Record<string, FakePhoto>
  readonly videos: Record<string, FakeVideo>
  readonly posts: FakePost[]
  readonly comments: FakeComment[]
  readonly stories: FakeStory[]
  readonly usage: UsageState
  next: number
}

export function newState(): State {
  return {
    oauth: newOAuthState(),
    users: {},
    pages: {},
    pageTokens: {},
    photos: {},
    videos: {},
    posts: [],
    comments: [],
    stories: [],
    usage: { since: 0, calls: 0 },
    next: 100_000_000,
  }
}

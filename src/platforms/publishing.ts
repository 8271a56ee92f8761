import type { PartContent } from './content.ts'
import type { StreamBody } from '../fetch/outgoing.ts'
import type { LinkPages } from './link-card.ts'
import type { AccountContext } from './platform.ts'

/** A post as its platform identifies it. Plain JSON. */
export interface RemotePost {
  readonly id: string
  readonly url: string | null
  /** Further ids that replies, edits and deletion need, such as the `cid` of a record. */
  readonly ids?: Readonly<Record<string, string>>
  /** What the user must know of it, although it is published. */
  readonly note?: PostNote
}

/** Something that the platform has left out of a post, or that only the user can do. */
export interface PostNote {
  /** A stable snake_case word. */
  readonly code: string
  readonly message: string
  /** What to do next; null if nothing needs to be done. */
  readonly nextStep: string | null
}

/** One part of a post: the post itself, a reply of its thread, or its first comment. */
export interface PublishPart extends PartContent {
  /** Unique, and the same for all attempts. Idempotency keys, record keys and slugs derive from it. */
  readonly key: string
  /** Milliseconds since the epoch. The same for all attempts. */
  readonly createdAt: number
  readonly role: 'post' | 'reply' | 'comment'
  readonly title?: string
  readonly link?: string
  readonly tags?: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  /** The first part of the thread, for replies and comments. */
  readonly root?: RemotePost
  /** The part that this one answers. */
  readonly parent?: RemotePost
}

/** The files of a post. */
export interface MediaSource {
  /** The bytes from `start` up to and not including `end`. */
  read(id: string, start: number, end: number): Promise<StreamBody>
  /** An address that the platform can fetch during the next hour. */
  publicUrl(id: string): Promise<string>
}

export interface PublishContext extends AccountContext {
  readonly media: MediaSource
  readonly pages: LinkPages
}

/**
 * The state between two steps: plain JSON, stored before the next step runs. It contains everything that makes a step
 * repeatable: upload sessions, containers, idempotency keys.
 */
export interface PublishState {
  readonly step: string
  readonly [field: string]: unknown
}

export type StepResult =
  | {
      readonly kind: 'next'
      readonly state: PublishState
      /** Milliseconds to wait first, while the platform processes a file. */
      readonly waitMs?: number
    }
  | { readonly kind: 'published'; readonly post: RemotePost }

/**
 * Whether a call whose reply was lost has published. `unknown`: the platform cannot tell. `pending`: it has everything
 * that it needs, and can tell later.
 */
export type Reconciled =
  | { readonly kind: 'published'; readonly post: RemotePost }
  | { readonly kind: 'absent' }
  | { readonly kind: 'pending' }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Figures of a post. A figure that the platform does not report is left out. */
export type Insights = Partial<
  Record<'views' | 'reach' | 'likes' | 'comments' | 'shares' | 'saves' | 'clicks' | 'watchSeconds', number>
>

/** What can be done before a post is due: the steps up to the first one whose effect others could see. */
export interface Preparation {
  /** How long uploads and containers can be used after the last step, in milliseconds. */
  readonly lifeMs: number
  /** Whether posts without files have such steps as well: all of them, or those with a link. */
  readonly texts?: true | 'links'
  /**
   * Whether the parts of a thread can be prepared as well. The part that they answer is not published by then, so steps
   * that need it have to wait.
   */
  readonly replies?: true
  /** Whether the next step has to wait for the time of the post, beside the one that commits. */
  readonly waits?: (state: PublishState, part: PublishPart) => boolean
}

/**
 * How a platform publishes one part of a post, as a sequence of steps. Each step makes at most one call that has an
 * effect. The caller stores the state between the steps, so that a process that ends continues at the same step.
 */
export interface Publishing {
  /** The state before the first step. Makes no calls. */
  readonly start: (part: PublishPart, account: Pick<AccountContext, 'remoteId' | 'credential'>) => PublishState
  /**
   * Whether the next step makes the post visible. If its reply is lost, the outcome is unknown, and `reconcile` decides.
   */
  readonly commits: (state: PublishState) => boolean
  /**
   * Whether a step that commits can be repeated without a second post, because the platform recognizes the repetition.
   * A function of the state where that depends on the server of the account.
   */
  readonly repeatable: boolean | ((state: PublishState) => boolean)
  /** How long the platform recognizes a repetition, in milliseconds. For ever when absent. */
  readonly repeatableMs?: number
  /** Absent if there is nothing to prepare. Preparing twice must be harmless, as everything before the commit. */
  readonly preparation?: Preparation
  /** @throws PlatformError */
  readonly step: (context: PublishContext, part: PublishPart, state: PublishState) => Promise<StepResult>
  /**
   * Looks for a post whose reply was lost. Absent where the platform has no way to look.
   * @throws PlatformError
   */
  readonly reconcile?: (context: AccountContext, part: PublishPart, state: PublishState) => Promise<Reconciled>
  /** Deletes a post. A post that does not exist counts as deleted. @throws PlatformError; `unsupported` */
  readonly remove?: (context: AccountContext, post: RemotePost) => Promise<void>
  /**
   * Changes the fields in `edits` of a published post. It can be repeated.
   * @throws PlatformError
   */
  readonly edit?: (context: AccountContext, post: RemotePost, part: PublishPart) => Promise<RemotePost>
  /** The fields that `edit` changes; the text by default. */
  readonly edits?: readonly ('text' | 'title' | 'link' | 'tags')[]
  /** @throws PlatformError */
  readonly insights?: (context: AccountContext, post: RemotePost) => Promise<Insights>
}

import type { Caller, Member } from './caller.ts'
import type { WorkerGrant } from './worker-grant.ts'
import type { RateLimitName } from './limits.ts'

/**
 * What the request pipeline needs of the domains. Methods may return a value or a promise, so that a cache hit needs no
 * await.
 */

export interface Authenticator {
  /**
   * The caller that a credential belongs to.
   * @throws AppError invalid_credential or credential_expired
   */
  authenticate(credential: Credential): Caller | Promise<Caller>
  /**
   * Records the use of a credential.
   * @param address called only when the use is written down
   */
  used(caller: Caller, address: () => string): void
}

/** Signed requests of workers. */
export interface Workers {
  /** The scheme of their Authorization. */
  readonly scheme: string
  /**
   * Admits a request, once.
   * @param target method and path
   * @throws AppError worker_signature_wrong, worker_request_expired, worker_request_replayed
   */
  admit(target: string, authorization: string): Promise<WorkerGrant>
}

/** Credentials that are valid for one operation only. */
export interface Tickets {
  /**
   * The caller that a ticket belongs to.
   * @throws AppError invalid_credential or credential_expired
   */
  redeem(operation: string, ticket: string): Caller
}

/** Links with which browsers download files. */
export interface Downloads {
  /**
   * Uses a link up, and returns the caller that has made it.
   * @param query without the parameter of the link
   * @throws AppError invalid_credential
   */
  redeem(path: string, query: string, token: string): Promise<Caller>
}

export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'api_key'; readonly key: string }

export interface Memberships {
  /** The caller's membership of a workspace; undefined if there is none or the workspace is deleted. */
  find(workspaceId: string, userId: string): Member | undefined | Promise<Member | undefined>
}

/** The members of private channels and direct conversations. A public channel is open to everyone who may read chat. */
export interface Channels {
  /** The channels of each user, read from the database; channel ids by user id. Users without channels are left out. */
  of(workspaceId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Whether a workspace has a public channel with this id. */
  isPublic(workspaceId: string, channelId: string): boolean | Promise<boolean>
  /**
   * Calls back when users join or leave channels of a workspace, on any node, before any later event of that workspace.
   * Undefined means any workspace.
   */
  onChange(listener: (workspaceId: string | undefined) => void): () => void
}

export interface Owners {
  /**
   * The workspace of a resource; undefined if the resource does not exist. A resource never moves between workspaces.
   */
  workspaceOf(resource: string, id: string): string | undefined | Promise<string | undefined>
  /**
   * The workspace that a registered lookup finds for a value (an invitation token, for example). Also undefined if the
   * user must not learn that the resource exists.
   */
  lookup(name: string, value: string, userId: string | undefined): Promise<string | undefined>
}

export interface RateDecision {
  readonly allowed: boolean
  /** The quota and window of the policy. */
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  /** Seconds until the next token (if refused), or until the bucket is full. */
  readonly resetSeconds: number
}

export interface RateLimiter {
  /** Takes one token from a bucket. */
  take(limit: RateLimitName, key: string): RateDecision | Promise<RateDecision>
}

export interface Switches {
  /** Whether a service (an operation's domain) is switched on. Read from memory, at most a second old. */
  isOn(service: string): boolean
}

import type { Caller, Member } from './caller.ts'
import type { RateLimitName } from './limits.ts'

/** What the request pipeline needs of the domains. Values may come at once or later: a hit in a cache costs no wait. */

export interface Authenticator {
  /**
   * Who holds this credential.
   * @throws AppError invalid_credential or credential_expired
   */
  authenticate(credential: Credential): Caller | Promise<Caller>
  /** Notes that a credential was used. @param address is asked for only when the use is written down */
  used(caller: Caller, address: () => string): void
}

/** Credentials that are good for one operation alone. */
export interface Tickets {
  /** Who was given a ticket. @throws AppError invalid_credential or credential_expired */
  redeem(operation: string, ticket: string): Caller
}

export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'api_key'; readonly key: string }

export interface Memberships {
  /** The caller as a member of a workspace that is not deleted; undefined when they are none. */
  find(workspaceId: string, userId: string): Member | undefined | Promise<Member | undefined>
}

/** Which private channels and direct conversations people are in. A public channel is open to whoever may read chat. */
export interface Channels {
  /** The channels of those of the users who are in any, read now; ids by user. */
  of(workspaceId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Whether a workspace has a public channel of this id. */
  isPublic(workspaceId: string, channelId: string): boolean | Promise<boolean>
  /**
   * Calls back when people came into or left channels of a workspace, on whichever node, before any later event of it;
   * undefined: of any workspace.
   */
  onChange(listener: (workspaceId: string | undefined) => void): () => void
}

export interface Owners {
  /** The workspace of a resource; undefined if it does not exist. A resource never moves between workspaces. */
  workspaceOf(resource: string, id: string): string | undefined | Promise<string | undefined>
  /**
   * The workspace that a registered lookup yields for a value (an invitation token, for example). Undefined also for
   * what the user must not learn the existence of.
   */
  lookup(name: string, value: string, userId: string | undefined): Promise<string | undefined>
}

export interface RateDecision {
  readonly allowed: boolean
  /** The policy's quota and window. */
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  /** Seconds until a token is there again (when refused), or until the bucket is full. */
  readonly resetSeconds: number
}

export interface RateLimiter {
  /** Takes one token of a bucket. */
  take(limit: RateLimitName, key: string): RateDecision | Promise<RateDecision>
}

export interface Switches {
  /** Whether a service (an operation's domain) is switched on. From memory; at most a second old. */
  isOn(service: string): boolean
}

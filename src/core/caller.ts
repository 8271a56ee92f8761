import type { Scope } from './scope.ts'

/** The authenticated caller of a request. The pipeline sets it before the rest of the operation runs. */
export interface Caller {
  readonly userId: string
  readonly email: string
  readonly isAdmin: boolean
  /**
   * Whether the user has confirmed the address. An unconfirmed user may only call operations that declare
   * `unconfirmed`.
   */
  readonly emailVerified: boolean
  /** Whether sign-ins to the user's account need a second factor, or this session began with a passkey. */
  readonly secondFactor?: boolean
  /** The login session behind an access token; absent for API keys. */
  readonly sessionId?: string
  /** The API key of the request and its limits. Null for an unlimited credential. */
  readonly apiKey?: {
    readonly id: string
    readonly scopes: ReadonlySet<Scope> | null
    readonly workspaceIds: ReadonlySet<string> | null
  }
  /** `ticket`: a credential for one operation, which does its own further checks. */
  readonly via: 'token' | 'api_key' | 'ticket'
}

/** The permissions of a user in one workspace: role, group and personal scopes, merged. */
export interface Member {
  readonly workspaceId: string
  readonly userId: string
  readonly role: string
  readonly scopes: ReadonlySet<Scope>
  /** When the user became a member, ISO 8601. */
  readonly joinedAt: string
  /** The scopes are also limited by the caller's API key. */
  readonly key?: 'limited'
  /** The workspace requires a second factor of its members. Those without one have no scopes. */
  readonly secondFactor?: 'required' | 'missing'
}

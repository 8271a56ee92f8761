import type { Scope } from './scope.ts'

/** Who makes a request, established by the pipeline before anything else of the operation runs. */
export interface Caller {
  readonly userId: string
  readonly email: string
  readonly isAdmin: boolean
  /** Whether the address was confirmed. Until then only operations that declare `unconfirmed` are open. */
  readonly emailVerified: boolean
  /** The login session behind an access token; absent for API keys. */
  readonly sessionId?: string
  /** The API key of the request, and what it is limited to; null where it may do what its user may. */
  readonly apiKey?: {
    readonly id: string
    readonly scopes: ReadonlySet<Scope> | null
    readonly workspaceIds: ReadonlySet<string> | null
  }
  /** `ticket`: a credential made for one operation, which checks what else it says. */
  readonly via: 'token' | 'api_key' | 'ticket'
}

/** What a user may do in one workspace: role, group and personal scopes, already merged. */
export interface Member {
  readonly workspaceId: string
  readonly userId: string
  readonly role: string
  readonly scopes: ReadonlySet<Scope>
  /** When they became a member, ISO 8601. */
  readonly joinedAt: string
  /** The scopes are also limited by the caller's API key. */
  readonly key?: 'limited'
}

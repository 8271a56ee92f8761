import type { Scope } from './scope.ts'

/** Who makes a request, established by the pipeline before anything else of the operation runs. */
export interface Caller {
  readonly userId: string
  readonly email: string
  readonly isAdmin: boolean
  /** The login session behind an access token; absent for API keys. */
  readonly sessionId?: string
  /** `ticket`: a credential made for one operation, which checks what else it says. */
  readonly via: 'token' | 'api_key' | 'ticket'
}

/** What a user may do in one workspace: role, group and personal scopes, already merged. */
export interface Member {
  readonly workspaceId: string
  readonly userId: string
  readonly role: string
  readonly scopes: ReadonlySet<Scope>
}

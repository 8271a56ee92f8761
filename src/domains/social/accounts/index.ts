/** The parts of social accounts that other domains and the composition use. */

export type { AccountPosts, DuePost } from './account-posts.ts'
export type { StoredBudget } from './budgets.ts'
export type { WorkspaceUse } from './limits/service.ts'
export type { AccountNow } from './capabilities.ts'
export { PlatformKey } from './schemas.ts'
export { archiveForPlan, returnForPlan } from './turns.ts'
export { AccountStatusSchema } from './status.ts'
export {
  namedAccounts,
  postingAccounts,
  PUBLISHING_STATUSES,
  type NamedAccount,
  type PostingAccount,
} from './posting.ts'
export type { AccountCalls, OpenedAccount } from './account-calls.ts'
export { accountsAfter, accountsOf, type ConnectedAccount } from './connected.ts'
export { SocialAccount } from './tables.ts'
export type { CredentialVault } from './vault.ts'

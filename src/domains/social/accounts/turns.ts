import { systemTurn } from '../../../core/system-turn.ts'
import type { SealedGrant } from './grants.ts'
import type { SocialAccountData } from './schemas.ts'

interface GrantInput {
  readonly grant: SealedGrant
  readonly userId: string
  readonly expected: string | undefined
  /** New credentials of pages of this login. */
  readonly children: readonly SealedGrant[]
}

/** Stores the grants of a sign-in at a platform. */
export const connectGrant = systemTurn<GrantInput, SocialAccountData>({
  name: 'socialAccounts.connect',
  run: async ({ input: { children, grant, ...options }, socialAccounts, turn }) => {
    const login = await socialAccounts.accounts.connect(turn, grant, options)
    await socialAccounts.children.connect(turn, login._id, children, options.userId)
    return login
  },
})

interface BrokenInput {
  readonly accountId: string
  readonly reason: string
}

/** Records that a platform no longer accepts the access to an account. */
export const breakAccount = systemTurn<BrokenInput>({
  name: 'socialAccounts.break',
  run: async ({ input: { accountId, reason }, socialAccounts, turn }) => {
    await socialAccounts.accounts.setBroken(turn, accountId, reason, { refreshAt: null })
  },
})

interface RefreshedInput {
  readonly accountId: string
  readonly expiresAt: string | null
  readonly refreshAt: string | null
}

/** Records new times of a refreshed token. */
export const recordRefresh = systemTurn<RefreshedInput>({
  name: 'socialAccounts.refreshed',
  run: async ({ input: { accountId, expiresAt, refreshAt }, socialAccounts, turn }) => {
    await socialAccounts.accounts.setBroken(turn, accountId, null, { expiresAt, refreshAt })
  },
})

/** Updates a status that depends on the time, and reminds the user. */
export const reviewAccount = systemTurn<{ readonly accountId: string }>({
  name: 'socialAccounts.review',
  run: async ({ input: { accountId }, socialAccounts, turn }) => {
    await socialAccounts.accounts.review(turn, accountId)
  },
})

/** Archives the accounts that the payer does not keep on a smaller plan. */
export const archiveForPlan = systemTurn<{ readonly kept: readonly string[] }>({
  name: 'socialAccounts.archiveForPlan',
  run: ({ input: { kept }, socialAccounts, turn }) => socialAccounts.lifecycle.archiveOthers(turn, kept),
})

/** Takes accounts from the archive that a larger plan has room for. */
export const returnForPlan = systemTurn<Readonly<Record<string, never>>>({
  name: 'socialAccounts.returnForPlan',
  run: ({ socialAccounts, turn }) => socialAccounts.lifecycle.returnArchived(turn),
})

/** Deletes an account that can no longer be restored. */
export const purgeAccount = systemTurn<{ readonly accountId: string }>({
  name: 'socialAccounts.purge',
  run: ({ input: { accountId }, socialAccounts, turn }) => socialAccounts.lifecycle.purge(turn, accountId),
})

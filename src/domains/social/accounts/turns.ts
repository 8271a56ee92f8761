import { systemTurn } from '../../../core/system-turn.ts'
import type { SealedGrant } from './grants.ts'
import type { SocialAccountData } from './schemas.ts'

interface GrantInput {
  readonly grant: SealedGrant
  readonly userId: string
  readonly expected: string | undefined
}

/** Stores the grants of a sign-in at a platform. */
export const connectGrant = systemTurn<GrantInput, SocialAccountData>({
  name: 'socialAccounts.connect',
  run: ({ input: { grant, ...options }, socialAccounts, turn }) =>
    socialAccounts.accounts.connect(turn, grant, options),
})

interface BrokenInput {
  readonly accountId: string
  readonly reason: string
}

/** Records that a platform no longer accepts the access to an account. */
export const breakAccount = systemTurn<BrokenInput>({
  name: 'socialAccounts.break',
  run: async ({ input: { accountId, reason }, socialAccounts, turn }) => {
    const changes = { brokenReason: reason, refreshAt: null }
    await socialAccounts.accounts.change(turn, accountId, changes, { actorId: null, reason })
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
    const changes = { expiresAt, refreshAt, brokenReason: null }
    await socialAccounts.accounts.change(turn, accountId, changes, { actorId: null, reason: 'the access was renewed' })
  },
})

/** Updates a status that depends on the time. */
export const reviewAccount = systemTurn<{ readonly accountId: string }>({
  name: 'socialAccounts.review',
  run: async ({ input: { accountId }, socialAccounts, turn }) => {
    await socialAccounts.accounts.change(turn, accountId, {}, { actorId: null, reason: 'the access is about to end' })
  },
})

/** Deletes an account that can no longer be restored. */
export const purgeAccount = systemTurn<{ readonly accountId: string }>({
  name: 'socialAccounts.purge',
  run: ({ input: { accountId }, socialAccounts, turn }) => socialAccounts.lifecycle.purge(turn, accountId),
})

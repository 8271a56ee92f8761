import { DAY, HOUR, MINUTE } from '../../../core/clock.ts'
import { UnrecoverableError, job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { PurgedGrant } from './purged-grants.ts'
import { purgeAccount, reviewAccount } from './turns.ts'

/** How long a key is used for new grants. */
const KEY_LIFE_MS = 90 * DAY

/** Ends the access at the platform. Repeated for about three days until the platform responds. */
export const revokeAccess = job({
  name: 'socialAccounts.revoke',
  summary: 'Revoke the access to a disconnected account at its platform',
  queue: 'default',
  data: Type.Object({ accountId: Id }),
  attempts: 60,
  backoff: { firstMs: 5_000, maxMs: HOUR },
  run: async ({ data, socialAccounts }) => {
    await socialAccounts.upkeep.revoke(data.accountId)
  },
})

/** The same for an account that was deleted with its workspace. */
export const revokePurged = job({
  name: 'socialAccounts.revoke-purged',
  summary: 'Revoke the access to an account whose workspace was deleted for good',
  queue: 'default',
  data: Type.Object({
    platform: Type.String(),
    remoteId: Type.String(),
    workspaceId: Id,
    credential: Type.Record(Type.String(), Type.Unknown()),
  }),
  sealed: true,
  attempts: 60,
  backoff: { firstMs: 5_000, maxMs: HOUR },
  run: async ({ data, socialAccounts }) => {
    await socialAccounts.purgedGrants.revoke(data as PurgedGrant)
  },
})

/** Renews the token of one account. */
export const refreshToken = job({
  name: 'socialAccounts.refresh',
  summary: 'Renew the access to an account before it ends',
  queue: 'default',
  data: Type.Object({ accountId: Id }),
  attempts: 20,
  backoff: { firstMs: 30_000, maxMs: 30 * MINUTE },
  timeoutMs: 2 * MINUTE,
  run: async ({ data, socialAccounts }) => {
    try {
      await socialAccounts.upkeep.refresh(data.accountId)
    } catch (error) {
      // The account shows that it must be connected again; nothing is left to retry.
      if (error instanceof PlatformError && error.kind === 'auth_expired') throw new UnrecoverableError(error.message)
      throw error
    }
  },
})

/** Encrypts the credentials with the newest key. */
export const reencryptCredentials = job({
  name: 'socialAccounts.reencrypt',
  summary: 'Encrypt the credentials of social accounts with a new key',
  queue: 'maintenance',
  data: Type.Object({}),
  timeoutMs: HOUR,
  run: async ({ log, socialAccounts }) => {
    const count = await socialAccounts.vault.reencrypt()
    log.info({ count }, 'credentials were encrypted with the newest key')
  },
})

export const refreshDueTokens = schedule({
  name: 'socialAccounts.refreshDue',
  summary: 'Renew the access to accounts whose token ends soon',
  cron: '* * * * *',
  run: async ({ effect, socialAccounts }) => {
    await effect((tx) => socialAccounts.upkeep.addRefreshJobs(tx))
  },
})

export const rotatePlatformKeys = schedule({
  name: 'socialAccounts.rotateKeys',
  summary: 'Make a new key for platforms at which the service authenticates by one',
  cron: '41 4 * * *',
  run: async ({ socialAccounts }) => {
    await socialAccounts.keys.rotateOlderThan(KEY_LIFE_MS)
  },
})

export const reviewAccounts = schedule({
  name: 'socialAccounts.review',
  summary: 'Remind users of accesses that are about to end, and delete removed accounts after 30 days',
  cron: '17 * * * *',
  timeoutMs: 10 * MINUTE,
  run: async ({ signal, socialAccounts, turns }) => {
    for (const { id, workspaceId } of await socialAccounts.upkeep.ending()) {
      if (signal.aborted) return
      await turns.system(workspaceId, reviewAccount, { accountId: id })
    }
    for (const { id, workspaceId } of await socialAccounts.lifecycle.expired()) {
      if (signal.aborted) return
      await turns.system(workspaceId, purgeAccount, { accountId: id })
    }
    await socialAccounts.signIns.purge()
    // A node that had not read the newest key may have used an older one.
    await socialAccounts.vault.reencrypt()
    await socialAccounts.vault.prune()
  },
})

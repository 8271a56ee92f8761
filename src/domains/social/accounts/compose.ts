import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import type { Foundation } from '../../../foundation.ts'
import { PlatformDirectory } from '../../../platforms/directory.ts'
import { OverrideFile } from '../../../platforms/rules/override-file.ts'
import { AccountCalls } from './account-calls.ts'
import { appStore } from './app-store.ts'
import { AccountBudgets } from './budgets.ts'
import { AccountCapabilities } from './capabilities.ts'
import { CredentialCheck } from './credentials.ts'
import { lifetimeOf } from './grants.ts'
import { AccountChildren } from './children/service.ts'
import { AccountLifecycle } from './lifecycle.ts'
import { AccountLimits } from './limits/service.ts'
import { PlatformKeys } from './platform-keys.ts'
import { AccountProfiles } from './profiles.ts'
import { AccountSeats } from './seats.ts'
import { SocialAccounts } from './service.ts'
import { SignIns } from './sign-ins.ts'
import { TokenRefresher } from './token-refresher.ts'
import { breakAccount, recordRefresh } from './turns.ts'
import { PurgedGrants } from './purged-grants.ts'
import { AccountUpkeep } from './upkeep.ts'
import { CredentialVault } from './vault.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly socialAccounts: ReturnType<typeof composeSocialAccounts>['services']['socialAccounts']
  }
}

/** Builds the services of social accounts. */
export function composeSocialAccounts(
  { clock, config, database: sql, jobs, log, secret, turns }: Foundation,
  { plans, workspaces: { memberships, service } }: Pick<Services, 'plans' | 'workspaces'>,
) {
  const platformLog = log.child({ part: 'platforms' })
  const file = config.PLATFORM_RULES_FILE
  const overrides = file === undefined ? undefined : new OverrideFile({ file, log: platformLog })
  const outgoing = Outgoing.of(config.ALLOW_PRIVATE_ADDRESSES)
  const vault = new CredentialVault(sql, clock, secret)
  const keys = new PlatformKeys(sql, clock, vault)
  const directory = new PlatformDirectory({
    settings: config.PLATFORMS,
    clock,
    outgoing,
    apps: appStore(sql, clock, vault),
    ...(overrides && { overrides: (platform: string) => overrides.of(platform) }),
    keys: (platform) => keys.of(platform),
    publicUrl: config.PUBLIC_URL,
    onCall: (platform, call) => platformLog.debug({ platform, ...call }, 'a platform was called'),
  })
  const refresher = new TokenRefresher(sql, clock, vault, directory, {
    refreshed: async ({ id, platform, workspaceId }, credential) => {
      const entry = directory.find(platform)
      if (entry === undefined) return
      const times = lifetimeOf(entry.platform, credential, clock.now())
      const text = (at: number | null) => (at === null ? null : new Date(at).toISOString())
      const input = { accountId: id, expiresAt: text(times.expiresAt), refreshAt: text(times.refreshAt) }
      await turns.system(workspaceId, recordRefresh, input)
    },
    broken: ({ id, workspaceId }, reason) => turns.system(workspaceId, breakAccount, { accountId: id, reason }),
  })
  const seats = new AccountSeats(plans)
  const accounts = new SocialAccounts(sql, clock, seats)
  const budgets = new AccountBudgets(sql, clock)
  const capabilities = new AccountCapabilities({ sql, clock, log, directory, refresher, budgets, memberships })
  const calls = new AccountCalls(sql, turns, { budgets, capabilities, directory, refresher })
  const children = new AccountChildren(sql, clock, { refresher, directory, vault, accounts, seats, capabilities })
  const purgedGrants = new PurgedGrants({ sql, jobs, log: platformLog, directory, vault, accounts })
  service.onPurge((tx, workspaceIds) => purgedGrants.keep(tx, workspaceIds), ['social_accounts', 'social_credentials'])
  return {
    services: {
      socialAccounts: {
        purgedGrants,
        publicUrl: config.PUBLIC_URL,
        directory,
        accounts,
        calls,
        capabilities,
        children,
        credentials: new CredentialCheck(clock, vault, directory),
        lifecycle: new AccountLifecycle(sql, clock, accounts, seats),
        limits: new AccountLimits(sql, plans, seats),
        profiles: new AccountProfiles(sql, clock, { refresher, calls, accounts }),
        signIns: new SignIns({
          sql,
          clock,
          vault,
          directory,
          memberships,
          turns,
          accounts,
          children,
          secret,
          publicUrl: config.PUBLIC_URL,
          origins: config.CORS_ORIGINS,
        }),
        refresher,
        keys,
        upkeep: new AccountUpkeep(sql, clock, jobs, { refresher, directory, vault, accounts }),
        vault,
      },
    },
    start: () => Promise.resolve(overrides?.start()),
    close: async () => {
      overrides?.close()
      outgoing.close()
      await budgets.close()
    },
  }
}

import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AppRegistrations, RegisteredApp } from '../../../platforms/platform.ts'
import { platformApps } from './tables.ts'
import type { CredentialVault } from './vault.ts'

/** Apps that Crier has registered itself, one for each server. */
export function appStore(sql: Sql, clock: Clock, vault: CredentialVault): (platform: string) => AppRegistrations {
  return (platform) => {
    const find = async (server: string, redirectUri: string): Promise<RegisteredApp | undefined> => {
      const row = await platformApps.first(sql, { platform, server, redirectUri })
      return row === undefined ? undefined : vault.openValue<RegisteredApp>('platform app', row)
    }
    return {
      find,
      add: async (server, redirectUri, app) => {
        const row = {
          platform,
          server,
          redirectUri,
          ...(await vault.sealValue('platform app', app)),
          createdAt: new Date(clock.now()),
        }
        await platformApps.insert(sql, row, { ignoreConflict: true })
        return (await find(server, redirectUri)) ?? app
      },
    }
  }
}

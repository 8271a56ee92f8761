import { SealedBox } from '../../../core/sealed-box.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AppRegistrations, RegisteredApp } from '../../../platforms/platform.ts'
import { platformApps } from './tables.ts'

/** Apps that Crier has registered itself, one for each server. */
export function appStore(sql: Sql, clock: Clock, secret: string): (platform: string) => AppRegistrations {
  const box = new SealedBox(secret, 'platform apps')
  return (platform) => {
    const find = async (server: string, redirectUri: string): Promise<RegisteredApp | undefined> => {
      const row = await platformApps.first(sql, { platform, server, redirectUri })
      return row === undefined ? undefined : (JSON.parse(box.open(row.sealed)) as RegisteredApp)
    }
    return {
      find,
      add: async (server, redirectUri, app) => {
        const row = {
          platform,
          server,
          redirectUri,
          sealed: box.seal(JSON.stringify(app)),
          createdAt: new Date(clock.now()),
        }
        await platformApps.insert(sql, row, { ignoreConflict: true })
        return (await find(server, redirectUri)) ?? app
      },
    }
  }
}

import type { Foundation } from '../../../foundation.ts'
import { HealthService } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly health: HealthService
  }
}

/** Builds the service of the domain, with probes of the database, coordination and storage. */
export function composeHealth({ clock, coordination, database, storage, version }: Foundation) {
  const health = new HealthService(clock, version)
  health.register('database', async () => void (await database.ping()))
  const name = coordination.kind === 'redis' ? 'redis' : 'coordination'
  health.register(name, async () => void (await coordination.ping()))
  health.warnOf(() => coordination.warnings())
  health.register('storage', () => storage.ping())
  return { services: { health } }
}

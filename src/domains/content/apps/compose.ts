import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { AppEntries, findAppFiles } from './entries.ts'
import { AppReader } from './reader.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly apps: ReturnType<typeof composeApps>['services']['apps']
  }
}

/** Builds the services of the apps, and keeps their files. */
export function composeApps(foundation: Foundation, { assets }: Pick<Services, 'assets'>) {
  const reader = new AppReader(foundation)
  const entries = new AppEntries(foundation, () => reader.content.changed())
  assets.housekeeping.keep(findAppFiles)
  return { services: { apps: { reader, entries } }, close: () => reader.content.close() }
}

import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { Recordings } from './service.ts'
import { recordingsOfSessions } from './store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly recordings: Recordings
  }
}

/** Builds the service of the domain. */
export function composeRecording({ clock }: Foundation, { assets, streams }: Pick<Services, 'assets' | 'streams'>) {
  streams.sessions.recordingsOf.provide(recordingsOfSessions)
  return { services: { recordings: new Recordings(clock, assets.library) } }
}

import type { Foundation } from '../../../foundation.ts'
import { PlayoutService, type PlayoutUses } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly playout: PlayoutService
  }
}

/** Builds the service of the domain. */
export function composePlayout({ clock, database }: Foundation, others: PlayoutUses): PlayoutService {
  return new PlayoutService(database, clock, others)
}

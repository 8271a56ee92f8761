import type { MediaLog } from './types.ts'

/** A log whose lines carry these fields too. What a line says itself comes first. */
export function logWith(log: MediaLog, always: object): MediaLog {
  return {
    debug: (fields, message) => log.debug({ ...always, ...fields }, message),
    info: (fields, message) => log.info({ ...always, ...fields }, message),
    warn: (fields, message) => log.warn({ ...always, ...fields }, message),
    error: (fields, message) => log.error({ ...always, ...fields }, message),
  }
}

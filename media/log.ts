import type { MediaLog } from './types.ts'

/** A log that adds these fields to every line. Fields of the line itself take precedence. */
export function logWith(log: MediaLog, common: object): MediaLog {
  return {
    debug: (fields, message) => log.debug({ ...common, ...fields }, message),
    info: (fields, message) => log.info({ ...common, ...fields }, message),
    warn: (fields, message) => log.warn({ ...common, ...fields }, message),
    error: (fields, message) => log.error({ ...common, ...fields }, message),
  }
}

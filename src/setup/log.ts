import type { Logger } from 'pino'

/** Logs the output of child processes. Of a pino logger, set-up only needs four levels. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

import type { Logger } from 'pino'

/** Where set-up says what its child processes do: a pino logger, of which it needs no more than the four levels. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

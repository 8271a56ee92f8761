import type { Log } from './log.ts'

/** The server's log format, which `logPostgresLine` parses: `SQLSTATE SEVERITY:  text`. */
export const POSTGRES_LOG_SETTINGS = {
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '%e ',
  log_min_messages: 'warning',
  lc_messages: 'C',
  // Details and statements contain user data. The sender of the statement gets them anyway.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

const LINE = /^(\w{5}) (\w+): {2}(.*)$/

/** SQLSTATE classes of errors that the statement did not cause: resources, system errors, damaged data (appendix A). */
const SERVER_TROUBLE = /^(53|58|XX)/

/** LOG messages that are not routine. */
const NOT_ROUTINE = /terminated by signal|not properly shut down|was interrupted|redo (starts|done)/

/** Logs one line of a server's standard error, at the level that suits Crier. */
export function logPostgresLine(log: Log, line: string): void {
  const [, sqlState = '', severity = '', text = line] = LINE.exec(line) ?? []
  log[level(sqlState, severity, text)]({ sqlState }, `postgres: ${text}`)
}

function level(sqlState: string, severity: string, text: string): 'debug' | 'info' | 'warn' | 'error' {
  if (severity === 'PANIC' || (severity === 'ERROR' && SERVER_TROUBLE.test(sqlState))) return 'error'
  if (severity === 'FATAL') return SERVER_TROUBLE.test(sqlState) ? 'error' : 'info'
  if (severity === 'WARNING' || (severity === 'LOG' && NOT_ROUTINE.test(text))) return 'warn'
  return 'debug'
}

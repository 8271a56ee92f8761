import pino, { type Logger } from 'pino'
import { systemClock } from './clock.ts'
import { LogWriter } from './log-writer.ts'
import { PrettyLog } from './pretty-log.ts'

export type { Logger }

/**
 * Names of fields whose values are never logged, at any depth. The list cannot protect free text: code must never log
 * bodies, keys or URLs with credentials.
 */
const SECRET_FIELDS = [
  'password',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'apiKey',
  'streamKey',
  'backupStreamKey',
  'otp',
  'code',
  'secret',
  'clientSecret',
  'authorization',
  'cookie',
]

const STANDARD_ERROR = 2

/** Creates the root logger. Subsystems use `log.child({ part: 'media' })`. */
export function createLog(options: {
  readonly level: string
  readonly destination?: pino.DestinationStream
  /** Writes readable lines instead of JSON when no destination is given. */
  readonly pretty?: boolean
}): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: isoTime,
      redact: {
        paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[secret]',
      },
      serializers: { error: pino.stdSerializers.err },
    },
    options.destination ?? standardError(options.pretty === true),
  )
}

/** The process has one standard error, so its loggers share the buffer and its flush at exit. */
let writer: LogWriter | undefined

function standardError(pretty: boolean): pino.DestinationStream {
  writer ??= new LogWriter(STANDARD_ERROR)
  return pretty ? new PrettyLog(writer) : writer
}

/** A function that writes finished JSON lines to the same destination as the logger. */
export function lineSink(log: Logger): (line: string) => void {
  const stream = (log as unknown as Record<symbol, pino.DestinationStream>)[pino.symbols.streamSym]
  if (stream === undefined) throw new Error('this logger has no stream')
  return (line) => stream.write(line)
}

let stampedAt = 0
let stamp = ''

/** The time field of a line. It is formatted again only when the millisecond has changed. */
export function isoTime(): string {
  const now = systemClock.now()
  if (now !== stampedAt) {
    stampedAt = now
    stamp = `,"time":"${new Date(now).toISOString()}"`
  }
  return stamp
}

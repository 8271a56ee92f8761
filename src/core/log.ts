import pino, { type Logger } from 'pino'
import { systemClock } from './clock.ts'

export type { Logger }

/**
 * Names of fields whose values never reach a log, wherever they sit. Secrets inside free text are the concern of who
 * writes the text: nothing logs bodies, keys or URLs with credentials.
 */
const SECRET_FIELDS = [
  'password',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'apiKey',
  'streamKey',
  'otp',
  'code',
  'secret',
  'clientSecret',
  'authorization',
  'cookie',
]

/** Makes the root logger. Subsystems take `log.child({ part: 'media' })`. */
export function createLog(options: { level: string; destination?: pino.DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: undefined,
    timestamp: isoTime,
    redact: {
      paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[secret]',
    },
    serializers: { error: pino.stdSerializers.err },
  }
  if (options.destination) return pino(settings, options.destination)
  // Lines are gathered and written a few times a second: a system call a line is what logging costs most.
  const output = pino.destination({ dest: 2, sync: false, minLength: 8_192 })
  setInterval(() => output.flush(), 200).unref()
  process.once('exit', () => output.flushSync())
  return pino(settings, output)
}

let stampedAt = 0
let stamp = ''

/** The time of a line, written anew only when the millisecond has changed. */
function isoTime(): string {
  const now = systemClock.now()
  if (now !== stampedAt) {
    stampedAt = now
    stamp = `,"time":"${new Date(now).toISOString()}"`
  }
  return stamp
}

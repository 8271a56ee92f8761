import type { Config } from '../config/config.ts'
import type { Logger } from '../core/log.ts'
import type { Mailer } from '../mail/mailer.ts'
import { unreachable } from '../setup/unreachable.ts'
import { describeStorage } from '../storage/compose.ts'
import type { Storage } from '../storage/storage.ts'

/** How long a start waits for a bucket and a mail server to answer. */
const PATIENCE_MS = 3_000

/**
 * Asks the services outside that a start does not need and users soon will: the bucket and the mail server. A failure
 * is a warning, because they may come later: files answer 503 until then, and mails wait.
 * @returns warnings for the banner, logged already
 */
export async function checkOutside(
  config: Config,
  { mailer, storage }: { readonly mailer: Mailer; readonly storage: Storage },
  log: Logger,
): Promise<string[]> {
  const { S3_BUCKET, SMTP_URL } = config
  const checks: Promise<string | undefined>[] = []
  if (S3_BUCKET !== undefined) {
    checks.push(attempt('S3_BUCKET, S3_ENDPOINT', describeStorage(config), () => storage.ping(), log))
  }
  if (SMTP_URL !== undefined) checks.push(attempt('SMTP_URL', mailer.destination, () => mailer.check(), log))
  const warnings = await Promise.all(checks)
  return warnings.filter((warning) => warning !== undefined)
}

async function attempt(
  settings: string,
  what: string,
  check: () => Promise<void>,
  log: Logger,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
    })
    await Promise.race([check(), late])
    return undefined
  } catch (error) {
    const { message } = unreachable(settings, what, error)
    log.warn({ error, settings }, message)
    return message
  } finally {
    clearTimeout(timer)
  }
}

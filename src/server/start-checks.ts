import type { Config } from '../config/config.ts'
import type { Logger } from '../core/log.ts'
import type { Mailer } from '../mail/mailer.ts'
import { unreachable } from '../setup/unreachable.ts'
import { describeStorage } from '../storage/compose.ts'
import type { Storage } from '../storage/storage.ts'

/** How long the start waits for the bucket and the mail server to respond. */
const PATIENCE_MS = 3_000

/**
 * Checks external services that are needed soon after the start: the bucket and the mail server. A failure is only a
 * warning, because they may become available later: until then, files reply with 503 and mails wait.
 * @returns warnings for the banner, already logged
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
  const warnings = [...(await Promise.all(checks)), inboundMail(config, log)]
  return warnings.filter((warning) => warning !== undefined)
}

/** Mails are received, but no sender can be verified. */
function inboundMail({ SUPPORT_ADDRESS, SUPPORT_AUTHSERV_ID }: Config, log: Logger): string | undefined {
  if (SUPPORT_ADDRESS === undefined || SUPPORT_AUTHSERV_ID !== undefined) return undefined
  const message =
    'SUPPORT_AUTHSERV_ID is not set: no sender of a mail to SUPPORT_ADDRESS is verified, so every mail becomes a ticket or note that is marked as unverified'
  log.warn({ settings: 'SUPPORT_AUTHSERV_ID' }, message)
  return message
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
      timer = setTimeout(() => reject(new Error(`no response within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
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

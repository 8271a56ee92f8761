import { join } from 'node:path'
import type { Config } from '../../../config/config.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Jobs } from '../../../core/job.ts'
import type { Logger } from '../../../core/log.ts'
import type { Authenticator } from '../../../core/ports.ts'
import type { Services } from '../../../core/services.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Database } from '../../../db/database.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import { OutboxMailer } from '../../../mail/outbox-mailer.ts'
import { Postman } from '../../../mail/postman.ts'
import { SmtpMailer } from '../../../mail/smtp-mailer.ts'
import { UserService, type Subscriptions } from '../users/index.ts'
import { ApiKeyService, type ApiKeyWorkspaces } from './api-keys/service.ts'
import { ApiKeyUses } from './api-keys/uses.ts'
import { AccessTokens } from './access-tokens.ts'
import { ensureAdministrator } from './administrator.ts'
import { CredentialAuthenticator } from './authenticator.ts'
import { EmailConfirmation } from './email-confirmation.ts'
import { AuthHousekeeping } from './housekeeping.ts'
import { KnownDevices } from './known-devices.ts'
import { OneTimeCodes } from './one-time-codes.ts'
import { PasswordHasher } from './passwords.ts'
import { PasswordResets } from './password-resets.ts'
import { ProviderSignIn } from './provider-sign-in.ts'
import { configuredProviders } from './providers/configured.ts'
import { AuthService } from './service.ts'
import { Sessions } from './sessions.ts'
import { AttemptThrottle } from './throttle.ts'

export interface AuthFoundation {
  readonly config: Config
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly log: Logger
  readonly secret: string
  readonly subscriptions: Subscriptions
  readonly jobs: Jobs
  readonly mailLimits: MailLimits
  readonly workspaces: ApiKeyWorkspaces
}

/** Users and auth, composed. */
export interface AuthComposition {
  readonly services: Pick<
    Services,
    'apiKeys' | 'auth' | 'emailConfirmation' | 'users' | 'providerSignIn' | 'mailer' | 'authHousekeeping'
  >
  readonly authenticator: Authenticator
  /** Prepares logins and the configured administrator. Await it before the first request. */
  start(): Promise<void>
  close(): Promise<void>
}

export function composeAuth(foundation: AuthFoundation): AuthComposition {
  const { clock, config, coordination, database, jobs, mailLimits, secret, subscriptions, workspaces } = foundation
  const log = foundation.log.child({ part: 'auth' })
  const mailer = mailerOf(config, clock)
  const postman = new Postman(jobs)
  const publicUrl = config.PUBLIC_URL
  const tokens = new AccessTokens(secret, clock)
  const keyUses = new ApiKeyUses(database, clock, log)
  const authenticator = new CredentialAuthenticator({ sql: database, tokens, clock, coordination, log, keyUses })
  const hasher = new PasswordHasher()
  const throttle = new AttemptThrottle(database, clock, secret)
  const apiKeys = new ApiKeyService({ database, clock, coordination, postman, workspaces })
  const users = new UserService({ database, clock, subscriptions, apiKeys })
  const sessions = new Sessions(database, clock, tokens, secret)
  const codes = new OneTimeCodes(clock, secret)
  const resets = new PasswordResets(clock)
  const devices = new KnownDevices(secret)
  const common = { database, clock, coordination, log, publicUrl, users, sessions, postman, hasher, devices }
  const guarded = { ...common, resets, throttle, jobs, mailLimits }
  const emailConfirmation = new EmailConfirmation({ ...guarded, codes })
  const auth = new AuthService({ ...guarded, apiKeys, confirmation: emailConfirmation })
  const providerSignIn = new ProviderSignIn({ ...common, providers: configuredProviders(config, clock) })
  const housekeeping = new AuthHousekeeping(database, clock, throttle)
  return {
    services: { apiKeys, auth, emailConfirmation, users, providerSignIn, mailer, authHousekeeping: housekeeping },
    authenticator,
    start: async () => {
      await hasher.prepare()
      const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = config
      if (email !== undefined && password !== undefined) await ensureAdministrator(common, { email, password })
    },
    close: async () => {
      authenticator.close()
      await keyUses.close()
      await mailer.close()
    },
  }
}

function mailerOf(config: Config, clock: Clock): OutboxMailer | SmtpMailer {
  return config.SMTP_URL === undefined
    ? new OutboxMailer(join(config.DATA_DIR, 'outbox'), config.MAIL_FROM, clock, config.OUTBOX_DAYS)
    : new SmtpMailer(config.SMTP_URL, config.MAIL_FROM)
}

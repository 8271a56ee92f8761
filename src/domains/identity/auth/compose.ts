import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { Postman } from '../../../mail/postman.ts'
import { ApiKeyService } from './api-keys/service.ts'
import { ApiKeyUses } from './api-keys/uses.ts'
import { AccessTokens } from './access-tokens.ts'
import { ensureAdministrator } from './administrator.ts'
import { CredentialAuthenticator } from './authenticator.ts'
import { DownloadLinks } from './downloads.ts'
import { EmailConfirmation } from './email-confirmation.ts'
import { AuthHousekeeping } from './housekeeping.ts'
import { KnownDevices } from './known-devices.ts'
import { OneTimeCodes } from './one-time-codes.ts'
import { PasswordHasher } from './passwords.ts'
import { PasswordResets } from './password-resets.ts'
import { PasskeyChallenges } from './passkeys/challenges.ts'
import { RelyingParty } from './passkeys/relying-party.ts'
import { PasskeyService } from './passkeys/service.ts'
import { ProviderSignIn } from './provider-sign-in.ts'
import { configuredProviders } from './providers/configured.ts'
import { Reauthentication } from './reauthentication.ts'
import { AuthService } from './service.ts'
import { SignInChallenges } from './second-factor/challenges.ts'
import { SecondFactorCodes } from './second-factor/codes.ts'
import { SecondFactors } from './second-factor/service.ts'
import { SignInGate } from './second-factor/sign-in.ts'
import { Sessions } from './sessions.ts'
import { AttemptThrottle } from './throttle.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly auth: ReturnType<typeof composeAuth>['services']['auth']
  }
}

/** Builds the services of the domain, including the authenticator. */
export function composeAuth(foundation: Foundation, { users: { accounts } }: Pick<Services, 'users'>) {
  const { clock, config, database, jobs, secret } = foundation
  const log = foundation.log.child({ part: 'auth' })
  const postman = new Postman(jobs)
  const publicUrl = config.PUBLIC_URL
  const apiKeys = new ApiKeyService({ ...foundation, postman })
  accounts.apiKeys.provide(apiKeys)
  const tokens = new AccessTokens(secret, clock)
  const keyUses = new ApiKeyUses(database, clock, log)
  const authenticator = new CredentialAuthenticator({ ...foundation, log, tokens, keyUses })
  const hasher = new PasswordHasher()
  const throttle = new AttemptThrottle(database, clock, secret)
  const sessions = new Sessions(database, clock, tokens, secret)
  const codes = new OneTimeCodes(clock, secret)
  const resets = new PasswordResets(clock)
  const devices = new KnownDevices(secret)
  const secondFactorCodes = new SecondFactorCodes(clock, throttle, secret)
  const identified = { ...foundation, log, users: accounts, sessions, postman, devices, codes: secondFactorCodes }
  const signInGate = new SignInGate({ ...identified, challenges: new SignInChallenges(secret, clock) })
  const reauthentication = new Reauthentication({ ...identified, hasher, throttle })
  const party = new RelyingParty(publicUrl, config.PASSKEY_DOMAIN, config.CORS_ORIGINS)
  const challenges = new PasskeyChallenges(secret, clock)
  const common = {
    ...foundation,
    log,
    publicUrl,
    users: accounts,
    sessions,
    postman,
    hasher,
    devices,
    gate: signInGate,
  }
  const guarded = { ...common, resets, throttle }
  const emailConfirmation = new EmailConfirmation({ ...guarded, codes })
  return {
    services: {
      auth: {
        apiKeys,
        authenticator,
        hasher,
        emailConfirmation,
        reauthentication,
        secondFactors: new SecondFactors({ ...identified, apiKeys, reauthentication }),
        signInGate,
        passkeys: new PasskeyService({ ...identified, challenges, party, reauthentication }),
        service: new AuthService({ ...guarded, apiKeys, confirmation: emailConfirmation }),
        providerSignIn: new ProviderSignIn({ ...common, providers: configuredProviders(config, clock) }),
        downloads: new DownloadLinks(database, clock, publicUrl),
        housekeeping: new AuthHousekeeping(database, clock, throttle),
      },
    },
    /** Prepares logins and the configured administrator. */
    start: async () => {
      await hasher.prepare()
      const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = config
      if (email !== undefined && password !== undefined) await ensureAdministrator(common, { email, password })
    },
    close: async () => {
      authenticator.close()
      await keyUses.close()
    },
  }
}

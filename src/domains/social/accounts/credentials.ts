import { Compile } from 'typebox/compile'
import type { Clock } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import type { ConfiguredPlatform, PlatformDirectory } from '../../../platforms/directory.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { NotSupported } from './errors.ts'
import { sealGrant, type SealedGrant } from './grants.ts'
import { asAppError, requirePlatform } from './platform-calls.ts'
import type { NewAccountData } from './schemas.ts'
import type { CredentialVault } from './vault.ts'

/** Connecting with credentials that the user enters. */
export class CredentialCheck {
  readonly #clock: Clock
  readonly #vault: CredentialVault
  readonly #directory: PlatformDirectory

  constructor(clock: Clock, vault: CredentialVault, directory: PlatformDirectory) {
    this.#clock = clock
    this.#vault = vault
    this.#directory = directory
  }

  /** Checks credentials at the platform. @throws AppError validation_failed, platform_refused, platform_unavailable, … */
  async check({ credentials = {}, platform: key, sandbox = false }: NewAccountData): Promise<SealedGrant> {
    const entry = requirePlatform(this.#directory, key)
    const { platform } = entry
    if (sandbox) return this.#fresh(entry)
    if (platform.credentials === undefined) {
      throw NotSupported({
        message: `${platform.title} accounts are connected by signing in there: GET /api/social-accounts/oauth/${key}/url.`,
      })
    }
    const { connect, fields } = platform.credentials
    const errors = Compile(fields).Errors(credentials)
    if (errors.length > 0) {
      throw ValidationFailed({
        errors: errors.map(({ instancePath, message }) => ({
          path: `/body/credentials${instancePath}`,
          code: 'credential',
          message,
        })),
      })
    }
    const grant = await asAppError(() => connect(this.#directory.context(entry), credentials))
    return sealGrant(this.#vault, this.#clock, platform, grant)
  }

  /** A new sandbox account, without consent. */
  async #fresh(entry: ConfiguredPlatform): Promise<SealedGrant> {
    const { platform, settings } = entry
    if (settings.sandboxUrl === undefined) {
      throw NotSupported({
        message: `${platform.title} is not in a sandbox here. Start Crier with SANDBOX=1, or connect a real account.`,
      })
    }
    const context = this.#directory.context(entry)
    return asAppError(async () => {
      const { json } = await context.http.send({ method: 'POST', url: `${settings.sandboxUrl}/_sandbox/accounts` })
      const credential = { server: settings.apiUrl, ...(json as Credential) }
      const profile = await platform.profile({ ...context, credential, remoteId: '' })
      const grant = { profile, credential, scopes: credential.scopes ?? null }
      return sealGrant(this.#vault, this.#clock, platform, grant, true)
    })
  }
}

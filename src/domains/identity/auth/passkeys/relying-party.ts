import { MINUTE } from '../../../../core/clock.ts'
import type { Static } from '../../../../core/schema.ts'
import { PasskeyRefused } from './errors.ts'
import type { AuthenticationResponse, RegistrationResponse } from './schemas.ts'
import type { PasskeyRow } from './tables.ts'

/** The library has 250 modules, so it is loaded when the first passkey is used, not with the server. */
const library = () => import('@simplewebauthn/server')

const TIMEOUT_MS = 5 * MINUTE
const NAME = 'Crier'
/**
 * EdDSA, ES256 and RS256. Every authenticator supports one of them. Post-quantum algorithms are experimental in Node.
 */
const ALGORITHMS = [-8, -7, -257]

type Challenge = Uint8Array<ArrayBuffer>

/** A new key pair, of which the server gets the public key. */
export type RegisteredKey = Pick<PasskeyRow, 'backedUp' | 'counter' | 'credentialId' | 'publicKey' | 'transports'>

/** Whether a challenge was issued by this server for this use. */
export type ChallengeCheck = (challenge: string) => boolean

/** This server as authenticators see it: a domain, and the origins of the pages that may ask for its passkeys. */
export class RelyingParty {
  readonly #id: string
  readonly #origins: string[]

  /**
   * @param domain the configured domain; by default the host of the public URL
   * @param origins of other pages that call the API. Those outside of the domain cannot use its passkeys
   */
  constructor(publicUrl: string, domain: string | undefined, origins: readonly string[]) {
    this.#id = domain ?? new URL(publicUrl).hostname
    this.#origins = [new URL(publicUrl).origin, ...origins.filter((origin) => origin !== '*')]
  }

  async creationOptions(
    user: { readonly id: string; readonly email: string; readonly name: string },
    challenge: Challenge,
    existing: readonly Pick<PasskeyRow, 'credentialId' | 'transports'>[],
  ): Promise<Record<string, unknown>> {
    const { generateRegistrationOptions } = await library()
    const options = await generateRegistrationOptions({
      rpName: NAME,
      rpID: this.#id,
      userID: userHandle(user.id),
      userName: user.email,
      userDisplayName: user.name,
      challenge,
      supportedAlgorithmIDs: ALGORITHMS,
      timeout: TIMEOUT_MS,
      excludeCredentials: existing.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    // Nothing reads the results of extensions.
    const { extensions: _extensions, ...used } = options
    return { ...used }
  }

  async requestOptions(challenge: Challenge): Promise<Record<string, unknown>> {
    const options = { rpID: this.#id, challenge, timeout: TIMEOUT_MS, userVerification: 'required' } as const
    const { generateAuthenticationOptions } = await library()
    return { ...(await generateAuthenticationOptions(options)) }
  }

  /** @throws AppError passkey_refused */
  async verifyRegistration(
    response: Static<typeof RegistrationResponse>,
    expectedChallenge: ChallengeCheck,
  ): Promise<RegisteredKey> {
    const { verifyRegistrationResponse } = await library()
    const { registrationInfo } = await refused(() =>
      verifyRegistrationResponse({
        response: { ...plain(response), response: response.response },
        expectedChallenge,
        expectedOrigin: this.#origins,
        expectedRPID: this.#id,
        supportedAlgorithmIDs: ALGORITHMS,
        requireUserVerification: true,
      }),
    )
    if (registrationInfo === undefined) throw PasskeyRefused()
    const { credential, credentialBackedUp } = registrationInfo
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: [...new Set(response.response.transports)],
      backedUp: credentialBackedUp,
    }
  }

  /**
   * Verifies the signature of a passkey, and that its counter has not gone back, which a copied authenticator would show.
   * @throws AppError passkey_refused
   */
  async verifySignIn(
    response: Static<typeof AuthenticationResponse>,
    row: PasskeyRow,
    expectedChallenge: ChallengeCheck,
  ): Promise<{ readonly counter: number; readonly backedUp: boolean }> {
    const { userHandle: handle, ...signed } = response.response
    if (handle != null && handle !== Buffer.from(userHandle(row.userId)).toString('base64url')) throw PasskeyRefused()
    const { verifyAuthenticationResponse } = await library()
    const { authenticationInfo, verified } = await refused(() =>
      verifyAuthenticationResponse({
        response: { ...plain(response), response: signed },
        expectedChallenge,
        expectedOrigin: this.#origins,
        expectedRPID: this.#id,
        credential: {
          id: row.credentialId,
          publicKey: new Uint8Array(Buffer.from(row.publicKey, 'base64url')),
          counter: row.counter,
        },
        requireUserVerification: true,
      }),
    )
    if (!verified) throw PasskeyRefused()
    return { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp }
  }
}

/** The user handle of a passkey: the bytes of the user's id, which say nothing about them (WebAuthn, section 14.6.1). */
function userHandle(userId: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex'))
}

/** The fields that both replies of a browser share. Extensions are not used. */
function plain({ id, rawId, type }: { readonly id: string; readonly rawId: string; readonly type: 'public-key' }) {
  return { id, rawId, type, clientExtensionResults: {} }
}

/** The library throws for each reply that does not fit. */
async function refused<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw PasskeyRefused({ cause: error })
  }
}

import { ValidationFailed } from '../../../../core/errors.ts'
import { ProviderSignInFailed, ProviderUnavailable } from '../errors.ts'

/** What a front end brings from a provider: an ID token, or a code with what belongs to it. */
export interface ProviderProof {
  readonly idToken?: string
  readonly code?: string
  readonly codeVerifier?: string
  readonly redirectUri?: string
  readonly nonce?: string
}

type CodeProof = Pick<ProviderProof, 'code' | 'codeVerifier' | 'redirectUri'>

/** Somebody, as a provider vouches for them. */
export interface ProvenIdentity {
  /** Within an issuer the subject never changes and is never given to another. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  /** Whether the provider has checked that the address is theirs. Without that it opens no account. */
  readonly emailVerified: boolean
  readonly name: string | undefined
  /** What must not sign anybody in a second time, until its expiry (ms since the epoch). */
  readonly singleUse: { readonly id: string; readonly until: number } | undefined
}

export interface SignInProvider {
  /** How users call it. */
  readonly label: string
  /** @throws AppError provider_sign_in_failed, provider_unavailable */
  prove(proof: ProviderProof): Promise<ProvenIdentity>
}

/** Refuses a proof. @param why ends the sentence that the caller reads */
export function refuse(why: string, cause?: unknown): never {
  throw ProviderSignInFailed({ message: `The sign-in was not accepted: ${why}.`, cause })
}

/** The provider is no help right now. @param cause is logged, never sent */
export function unavailable(label: string, cause: unknown): never {
  throw ProviderUnavailable({ message: `${label} does not answer properly right now.`, retryAfter: 5, cause })
}

/** The parts of a code exchange. @throws AppError validation_failed that names what is missing */
export function codeOf({ code, codeVerifier, redirectUri }: ProviderProof): Required<CodeProof> {
  if (code !== undefined && codeVerifier !== undefined && redirectUri !== undefined)
    return { code, codeVerifier, redirectUri }
  const errors = Object.entries({ code, codeVerifier, redirectUri })
    .filter(([, value]) => value === undefined)
    .map(([name]) => ({ path: `/body/${name}`, code: 'required', message: 'is required with an authorization code' }))
  throw ValidationFailed({ message: 'An authorization code comes with codeVerifier and redirectUri.', errors })
}

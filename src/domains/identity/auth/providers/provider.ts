import { ValidationFailed } from '../../../../core/errors.ts'
import { ProviderSignInFailed, ProviderUnavailable } from '../errors.ts'

/** What a front end gets from a provider: an ID token, or a code with its PKCE verifier and redirect URI. */
export interface ProviderProof {
  readonly idToken?: string
  readonly code?: string
  readonly codeVerifier?: string
  readonly redirectUri?: string
  readonly nonce?: string
}

type CodeProof = Pick<ProviderProof, 'code' | 'codeVerifier' | 'redirectUri'>

/** A person whose identity a provider has confirmed. */
export interface ProvenIdentity {
  /** Within an issuer a subject never changes and is never reused. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  /** Whether the provider has verified the address. Otherwise no account is created or linked. */
  readonly emailVerified: boolean
  readonly name: string | undefined
  /** An ID token that must not be used again until it expires (ms since the epoch). */
  readonly singleUse: { readonly id: string; readonly until: number } | undefined
}

export interface SignInProvider {
  /** The name of the provider for people. */
  readonly label: string
  /** @throws AppError provider_sign_in_failed, provider_unavailable */
  prove(proof: ProviderProof): Promise<ProvenIdentity>
}

/** Refuses a proof. @param why the end of the error message */
export function refuse(why: string, cause?: unknown): never {
  throw ProviderSignInFailed({ message: `The sign-in was not accepted: ${why}. Start again at the provider.`, cause })
}

/** The provider does not respond properly. @param cause logged, never sent */
export function unavailable(label: string, cause: unknown): never {
  throw ProviderUnavailable({
    message: `The sign-in provider ${label} is currently unavailable.`,
    retryAfter: 5,
    cause,
  })
}

/** The parts of a code exchange. @throws AppError validation_failed that names what is missing */
export function codeOf({ code, codeVerifier, redirectUri }: ProviderProof): Required<CodeProof> {
  if (code !== undefined && codeVerifier !== undefined && redirectUri !== undefined)
    return { code, codeVerifier, redirectUri }
  const errors = Object.entries({ code, codeVerifier, redirectUri })
    .filter(([, value]) => value === undefined)
    .map(([name]) => ({ path: `/body/${name}`, code: 'required', message: 'is required if you send `code`' }))
  throw ValidationFailed({ message: 'Send `code`, `codeVerifier` and `redirectUri` together.', errors })
}

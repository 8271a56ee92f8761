/** What other domains use of auth. */

export { credentialRefOf, findValidCredentials, type CredentialRef } from './credential-refs.ts'
export { FreshLoginNeeded, TooManyAttempts, WrongPassword } from './errors.ts'
export { WrongSecondFactor } from './second-factor/errors.ts'
export { Proof } from './second-factor/schemas.ts'

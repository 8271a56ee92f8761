/** What other domains use of auth. */

export { credentialRefOf, findValidCredentials, type CredentialRef } from './credential-refs.ts'

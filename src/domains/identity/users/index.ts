/** What other domains may use of users. */

export {
  findUser,
  findUserByEmail,
  lockPassword,
  makeAdministrator,
  markEmailVerified,
  resetUnverifiedUser,
  setPassword,
  usersWithChangedCredentials,
} from './accounts.ts'
export { API_KEY, newApiKey } from './api-keys.ts'
export { ApiKey, apiKeys } from './api-key-table.ts'
export { ApiKeyService } from './api-key-service.ts'
export { announceCredentials, onCredentials, type CredentialNotice } from './credential-notices.ts'
export { EmailInput, normalizeEmail } from './email-address.ts'
export { EmailInUse } from './errors.ts'
export { pictureUrl } from './picture-url.ts'
export { PICTURE_URL, UserName, UserView, UserWithKey, type UserData } from './schemas.ts'
export { emailInUse, UserService } from './service.ts'
export { User, type UserRow } from './tables.ts'

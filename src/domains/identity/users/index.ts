/** What other domains use of users. */

export {
  findAdministrators,
  eraseUser,
  findPictures,
  findUser,
  findUserByEmail,
  findUsers,
  lockPassword,
  makeAdministrator,
  markCredentialsChanged,
  markEmailVerified,
  resetUnverifiedUser,
  searchUsers,
  setPassword,
  touchUser,
  usersWithChangedCredentials,
} from './accounts.ts'
export { announceCredentials, onCredentials, type CredentialNotice } from './credential-notices.ts'
export { EmailInput, normalizeEmail } from './email-address.ts'
export { EmailInUse } from './errors.ts'
export { findReaders, mailTime, quietUntil, type Reader } from './readers.ts'
export { publishingSettingsOf, type PublishingSettingsData } from './publishing-defaults.ts'
export { pictureUrl } from './picture-url.ts'
export { largestPictureKey } from './pictures.ts'
export { PICTURE_URL, UserName, UserView, UserWithKey, type UserData } from './schemas.ts'
export { emailInUse, UserService } from './service.ts'
export { WEEK_STARTS } from './settings.ts'
export {
  PLAN_NAMES,
  SubscriptionStatus,
  type PlanName,
  type SubscriptionData,
  type Subscriptions,
} from './subscription.ts'
export { User, type UserRow } from './tables.ts'

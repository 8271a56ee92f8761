import { domain } from '../../../domain.ts'
import { composeSocialAccounts } from './compose.ts'
import * as childOperations from './children/operations.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import {
  AccountHistory,
  EncryptionKey,
  PlatformApp,
  PlatformKey,
  SignInAttempt,
  SocialAccount,
  SocialAccountReport,
  SocialCredential,
} from './tables.ts'
import * as turns from './turns.ts'
import { personal } from './personal-data.ts'

export const socialAccounts = domain({
  personal,
  name: 'social-accounts',
  about: 'Accounts at social platforms, and their access',
  operations: { ...operations, ...childOperations },
  events,
  notifications,
  jobs,
  turns: Object.values(turns),
  entities: [
    SocialAccount,
    SocialCredential,
    SocialAccountReport,
    AccountHistory,
    SignInAttempt,
    PlatformApp,
    PlatformKey,
    EncryptionKey,
  ],
  resources: ['social_accounts'],
  compose: composeSocialAccounts,
})

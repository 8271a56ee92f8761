import { defineEntity, p } from '@mikro-orm/postgresql'
import { keyReferences, references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { LiveCapabilities } from '../../../platforms/platform.ts'
import type { BudgetsByName } from './budgets.ts'
import type { SocialAccountData } from './schemas.ts'
import type { AccountStatus } from './status.ts'

const textList = () => p.array().columnType('text[]').defaultRaw(`'{}'`)

/** An account at a social platform, connected to a workspace. */
export const SocialAccount = defineEntity({
  name: 'SocialAccount',
  tableName: 'social_accounts',
  uniques: [{ name: 'social_accounts_remote_key', properties: ['workspaceId', 'platform', 'remoteId'] }],
  indexes: [
    { name: 'social_accounts_by_connector', properties: ['connectedBy', 'id'] },
    { name: 'social_accounts_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'social_accounts_by_remote', properties: ['platform', 'remoteId'] },
    {
      name: 'social_accounts_by_login',
      expression: 'create index social_accounts_by_login on social_accounts (login_id) where login_id is not null',
    },
    {
      name: 'social_accounts_by_refresh',
      expression:
        'create index social_accounts_by_refresh on social_accounts (refresh_at) where refresh_at is not null',
    },
    {
      name: 'social_accounts_removed',
      expression: 'create index social_accounts_removed on social_accounts (removed_at) where removed_at is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'social_accounts_workspace_id_fkey', onDelete: 'cascade' }),
    platform: p.text(),
    /** The id at the platform. */
    remoteId: p.text(),
    /** The login that a page or organization belongs to. */
    loginId: p.uuid().nullable(),
    /** Whether it is used with the credential of its login. */
    sharesLogin: p.boolean().default(false),
    name: p.text(),
    handle: p.text().nullable(),
    avatarUrl: p.text().nullable(),
    url: p.text().nullable(),
    kind: p.text(),
    status: p.text().$type<AccountStatus>(),
    /** Why the account has this status, for the user. */
    statusReason: p.text().nullable(),
    /** Why the credential no longer works. Null while it does. */
    brokenReason: p.text().nullable(),
    /** The scopes that the platform granted; null if it does not report them. */
    scopes: p.array().columnType('text[]').nullable(),
    missingScopes: textList(),
    /** When the access ends unless the user connects again. Null if it does not end or is renewed automatically. */
    expiresAt: timestamp().nullable(),
    /** When the schedule renews the token. */
    refreshAt: timestamp().nullable(),
    sandbox: p.boolean().default(false),
    /** The last reminder that the access ends, in days before the end. Null before the first one. */
    remindedDays: p.integer().nullable(),
    connectedBy: p.uuid(),
    connectedAt: timestamp(),
    /** When the platform last confirmed the account. */
    checkedAt: timestamp(),
    archivedAt: timestamp().nullable(),
    /** A smaller plan has archived it, so a larger one takes it from the archive. */
    archivedByPlan: p.boolean().default(false),
    suspendedAt: timestamp().nullable(),
    removedAt: timestamp().nullable(),
    /** The account as the API shows it. Written with each change, so that lists send it without parsing. */
    view: p.json<SocialAccountData>().columnType('json'),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const socialAccounts = table(SocialAccount)
export type SocialAccountRow = Row<typeof SocialAccount>

/** The columns of a row with an encrypted value. The row has its own data key. `vault.ts` lists the tables. */
function envelope() {
  return {
    /** The installation key that encrypts the data key. */
    keyId: p.uuid(),
    dataKeySealed: p.text(),
    sealed: p.text(),
  }
}

/** The credential of an account, encrypted with its own data key, which is encrypted with an installation key. */
export const SocialCredential = defineEntity({
  name: 'SocialCredential',
  tableName: 'social_credentials',
  indexes: [
    { name: 'social_credentials_by_key', properties: ['keyId'] },
    {
      name: 'social_credentials_by_client_key',
      expression:
        'create index social_credentials_by_client_key on social_credentials (client_key_id) where client_key_id is not null',
    },
  ],
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'social_credentials_account_id_fkey', onDelete: 'cascade' }),
    ...envelope(),
    /** The client key that the grant is bound to. */
    clientKeyId: p.uuid().nullable(),
    /** Raised with each new credential. */
    version: p.integer().default(1),
    /** The node that is refreshing the token, as a random number; the fence of the refresh. */
    leaseToken: p.uuid().nullable(),
    leaseUntil: timestamp().nullable(),
    updatedAt: timestamp(),
  },
})

export const socialCredentials = table(SocialCredential)
export type SocialCredentialRow = Row<typeof SocialCredential>

/** Changes of the status of an account. */
export const AccountHistory = defineEntity({
  name: 'AccountHistory',
  tableName: 'social_account_history',
  indexes: [
    { name: 'social_account_history_by_actor', properties: ['actorId', 'id'] },
    { name: 'social_account_history_by_account', properties: ['accountId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    accountId: references(SocialAccount, { name: 'social_account_history_account_id_fkey', onDelete: 'cascade' }),
    status: p.text().$type<AccountStatus>(),
    reason: p.text().nullable(),
    /** The user who caused it; null for the service. */
    actorId: p.uuid().nullable(),
    at: timestamp(),
  },
})

export const accountHistory = table(AccountHistory)

/** What a platform last reported about an account: its capabilities and budgets. */
export const SocialAccountReport = defineEntity({
  name: 'SocialAccountReport',
  tableName: 'social_account_reports',
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'social_account_reports_account_id_fkey', onDelete: 'cascade' }),
    capabilities: p.json<LiveCapabilities>().nullable(),
    capabilitiesAt: timestamp().nullable(),
    /** Until when the capabilities may be used without another call. */
    freshUntil: timestamp().nullable(),
    /** Why the last call failed; null after a reply. */
    error: p.text().nullable(),
    failedAt: timestamp().nullable(),
    /** By the platform's name of the budget. */
    budgets: p.json<BudgetsByName>().defaultRaw(`'{}'`),
  },
})

export const socialAccountReports = table(SocialAccountReport)

/** A sign-in at a platform in progress: from the consent link to the callback. */
export const SignInAttempt = defineEntity({
  name: 'SignInAttempt',
  tableName: 'social_sign_ins',
  indexes: [
    { name: 'social_sign_ins_by_person', properties: ['userId'] },
    { name: 'social_sign_ins_by_expiry', properties: ['expiresAt'] },
    { name: 'social_sign_ins_by_workspace', properties: ['workspaceId'] },
  ],
  properties: {
    id: p.uuid().primary(),
    stateHash: p.text().unique('social_sign_ins_state_key'),
    workspaceId: references(Workspace, { name: 'social_sign_ins_workspace_id_fkey', onDelete: 'cascade' }),
    userId: p.uuid(),
    platform: p.text(),
    /** Hash of the cookie of the browser that requested the link. */
    browserHash: p.text(),
    /** The PKCE verifier and the platform's own state, encrypted. */
    secretsSealed: p.text(),
    redirectUri: p.text(),
    /** Where the browser goes afterwards; null for Crier's own page. */
    returnTo: p.text().nullable(),
    expiresAt: timestamp(),
    usedAt: timestamp().nullable(),
    createdAt: timestamp(),
  },
})

export const signInAttempts = table(SignInAttempt)
export type SignInAttemptRow = Row<typeof SignInAttempt>

/** An app that Crier has registered at one server of a platform. */
export const PlatformApp = defineEntity({
  name: 'PlatformApp',
  tableName: 'platform_apps',
  properties: {
    platform: p.text().primary(),
    server: p.text().primary(),
    redirectUri: p.text().primary(),
    ...envelope(),
    createdAt: timestamp(),
  },
})

export const platformApps = table(PlatformApp)

/** A key with which this server authenticates at a platform. The newest one is for new grants. */
export const PlatformKey = defineEntity({
  name: 'PlatformKey',
  tableName: 'platform_keys',
  indexes: [{ name: 'platform_keys_by_platform', properties: ['platform', 'id'] }],
  properties: { id: p.uuid().primary(), platform: p.text(), ...envelope(), createdAt: timestamp() },
})

export const platformKeys = table(PlatformKey)

/** A key of the installation, encrypted with its secret. The newest one encrypts new data keys. */
export const EncryptionKey = defineEntity({
  name: 'EncryptionKey',
  tableName: 'encryption_keys',
  properties: { id: p.uuid().primary(), sealed: p.text(), createdAt: timestamp() },
})

export const encryptionKeys = table(EncryptionKey)

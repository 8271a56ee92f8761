import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from '../users/index.ts'
import type { SecondFactorMethod } from './second-factor/codes.ts'
import { Passkey } from './passkeys/tables.ts'
import { RecoveryCode, Totp } from './second-factor/tables.ts'

/** No user has this id. Looking it up takes as long as looking up a user who exists. */
export const NOBODY = '00000000-0000-0000-0000-000000000000'

const userId = (foreignKey: string) => references(User, { name: foreignKey, onDelete: 'cascade' })

/** An API key of a user. The key has 256 random bits, so its SHA-256 is enough. */
const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  indexes: [
    {
      name: 'api_keys_default_key',
      expression: 'create unique index api_keys_default_key on api_keys (user_id) where is_default',
    },
    { name: 'api_keys_by_user', expression: 'create index api_keys_by_user on api_keys (user_id, id)' },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: userId('api_keys_user_id_fkey'),
    name: p.text(),
    keyHash: p.text().unique('api_keys_hash_key'),
    /** The first characters of the key, so that its owner recognizes it. */
    prefix: p.text(),
    /** The key issued at sign-up, which `regenerateApiKey` replaces. */
    isDefault: p.boolean().default(false),
    /** Null: all scopes of the user. */
    scopes: p.array().nullable(),
    /** Null: all workspaces of the user. */
    workspaceIds: p.array().columnType('uuid[]').nullable(),
    expiresAt: timestamp().nullable(),
    lastUsedAt: timestamp().nullable(),
    lastUsedAddress: p.text().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** An account at a sign-in provider. A subject is unique within its issuer (OpenID Connect Core, section 2). */
const Identity = defineEntity({
  name: 'Identity',
  tableName: 'identities',
  uniques: [{ name: 'identities_subject_key', properties: ['provider', 'issuer', 'subject'] }],
  indexes: [{ name: 'identities_by_user', properties: ['userId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    userId: userId('identities_user_id_fkey'),
    provider: p.text(),
    issuer: p.text(),
    subject: p.text(),
    email: p.text().nullable(),
    createdAt: timestamp(),
    lastUsedAt: timestamp(),
  },
})

/** A login. Its refresh tokens form one family; `generation` is the number of the current one. */
const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  indexes: [{ name: 'sessions_by_user', properties: ['userId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    userId: userId('sessions_user_id_fkey'),
    secret: p.text(),
    generation: p.integer().default(1),
    rotatedAt: timestamp(),
    /** `password`, `code`, `passkey`, or the name of a sign-in provider. */
    method: p.text(),
    /** The second factor that was proved too. */
    secondFactor: p.text().$type<SecondFactorMethod>().nullable(),
    remoteAddress: p.text(),
    userAgent: p.text(),
    createdAt: timestamp(),
    lastUsedAt: timestamp(),
    expiresAt: timestamp().index('sessions_by_expiry'),
    revokedAt: timestamp().nullable().index('sessions_by_revocation'),
    revokedBecause: p.text().$type<RevocationReason>().nullable(),
  },
})

export type RevocationReason = 'logout' | 'revoked' | 'reuse' | 'password' | 'takeover' | 'second_factor'

/** The code that confirms the address of a user. */
const OneTimeCode = defineEntity({
  name: 'OneTimeCode',
  tableName: 'one_time_codes',
  properties: {
    userId: userId('one_time_codes_user_id_fkey').primary(),
    codeHash: p.text(),
    tries: p.integer().default(0),
    /** Tries from the network of the sign-up, which are counted separately. */
    knownTries: p.integer().default(0),
    sentAt: timestamp(),
    expiresAt: timestamp(),
  },
})

/** The client that signed up with an address; kept until the address is confirmed. */
const PendingSignUp = defineEntity({
  name: 'PendingSignUp',
  tableName: 'pending_sign_ups',
  properties: {
    userId: userId('pending_sign_ups_user_id_fkey').primary(),
    network: p.text(),
    userAgent: p.text(),
    createdAt: timestamp(),
  },
})

/** A mailed token that lets its holder choose a new password. */
const PasswordReset = defineEntity({
  name: 'PasswordReset',
  tableName: 'password_resets',
  indexes: [{ name: 'password_resets_by_user', properties: ['userId', 'createdAt'] }],
  properties: {
    tokenHash: p.text().primary(),
    userId: userId('password_resets_user_id_fkey'),
    createdAt: timestamp(),
    expiresAt: timestamp(),
  },
})

/** Failed attempts at an address, whether or not it has an account. The key is a digest of the address. */
const LoginThrottle = defineEntity({
  name: 'LoginThrottle',
  tableName: 'login_throttles',
  properties: {
    key: p.text().primary(),
    failures: p.integer(),
    lastFailedAt: timestamp().index('login_throttles_by_age'),
    lockedUntil: timestamp().nullable(),
  },
})

/** ID tokens that were used to sign in; kept until they expire, so that none works twice. */
const UsedNonce = defineEntity({
  name: 'UsedNonce',
  tableName: 'used_nonces',
  properties: {
    digest: p.text().primary(),
    expiresAt: timestamp().index('used_nonces_by_expiry'),
  },
})

/** A link to download a file, until it is used. */
const DownloadLink = defineEntity({
  name: 'DownloadLink',
  tableName: 'download_links',
  indexes: [{ name: 'download_links_by_user', properties: ['userId', 'expiresAt'] }],
  properties: {
    tokenHash: p.text().primary(),
    userId: userId('download_links_user_id_fkey'),
    /** The credential that has made it: one of the two. */
    sessionId: p.uuid().nullable(),
    apiKeyId: p.uuid().nullable(),
    /** Digest of the path and the query that it is for. */
    targetHash: p.text(),
    expiresAt: timestamp().index('download_links_by_expiry'),
  },
})

export const authEntities = [
  DownloadLink,
  ApiKey,
  Identity,
  Session,
  OneTimeCode,
  PendingSignUp,
  PasswordReset,
  LoginThrottle,
  UsedNonce,
  Totp,
  RecoveryCode,
  Passkey,
]

export const apiKeys = table(ApiKey)
export const identities = table(Identity)
export const sessions = table(Session)
export const oneTimeCodes = table(OneTimeCode)
export const pendingSignUps = table(PendingSignUp)
export const passwordResets = table(PasswordReset)
export const loginThrottles = table(LoginThrottle)
export const usedNonces = table(UsedNonce)
export const downloadLinks = table(DownloadLink)

export type ApiKeyRow = Row<typeof ApiKey>
export type SessionRow = Row<typeof Session>

import { defineEntity, p } from '@mikro-orm/postgresql'
import { User } from '../users/index.ts'

const time = () => p.datetime().columnType('timestamptz')
const user = (name: string) => p.manyToOne(User).deleteRule('cascade').updateRule('no action').foreignKeyName(name)

/** An account at a provider of sign-in. A subject is unique within its issuer (OpenID Connect Core, section 2). */
export const Identity = defineEntity({
  name: 'Identity',
  tableName: 'identities',
  uniques: [{ name: 'identities_subject_key', properties: ['provider', 'issuer', 'subject'] }],
  properties: {
    id: p.uuid().primary(),
    user: user('identities_user_id_fkey').index('identities_by_user'),
    provider: p.text(),
    issuer: p.text(),
    subject: p.text(),
    email: p.text().nullable(),
    createdAt: time(),
    lastUsedAt: time(),
  },
})

/** A login. Its refresh tokens are one family: `generation` says which of them is the present one. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  indexes: [
    {
      name: 'sessions_by_user',
      expression: 'create index sessions_by_user on sessions (user_id, created_at desc, id desc)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    user: user('sessions_user_id_fkey').index(false),
    secret: p.text(),
    generation: p.integer().default(1),
    rotatedAt: time(),
    method: p.text(),
    remoteAddress: p.text(),
    userAgent: p.text(),
    createdAt: time(),
    lastUsedAt: time(),
    expiresAt: time().index('sessions_by_expiry'),
    revokedAt: time().nullable().index('sessions_by_revocation'),
    revokedBecause: p.text().nullable(),
  },
})

export const OneTimeCode = defineEntity({
  name: 'OneTimeCode',
  tableName: 'one_time_codes',
  properties: {
    user: p
      .oneToOne(User)
      .primary()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('one_time_codes_user_id_fkey')
      .unique(false),
    codeHash: p.text(),
    tries: p.integer().default(0),
    /** From the network of the sign-up. */
    knownTries: p.integer().default(0),
    sentAt: time(),
    expiresAt: time(),
  },
})

/** Who signed up with an address, until it is confirmed. */
export const PendingSignUp = defineEntity({
  name: 'PendingSignUp',
  tableName: 'pending_sign_ups',
  properties: {
    user: p
      .oneToOne(User)
      .primary()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('pending_sign_ups_user_id_fkey')
      .unique(false),
    network: p.text(),
    userAgent: p.text(),
    createdAt: time(),
  },
})

export const PasswordReset = defineEntity({
  name: 'PasswordReset',
  tableName: 'password_resets',
  indexes: [{ name: 'password_resets_by_user', properties: ['user', 'createdAt'] }],
  properties: {
    tokenHash: p.text().primary(),
    user: user('password_resets_user_id_fkey').index(false),
    createdAt: time(),
    expiresAt: time(),
  },
})

/** Failed attempts at one address, known or not. The key is a digest, so that the table names nobody. */
export const LoginThrottle = defineEntity({
  name: 'LoginThrottle',
  tableName: 'login_throttles',
  properties: {
    key: p.text().primary(),
    failures: p.integer(),
    lastFailedAt: time().index('login_throttles_by_age'),
    lockedUntil: time().nullable(),
  },
})

/** Nonces of ID tokens that have signed somebody in, until the tokens have expired. */
export const UsedNonce = defineEntity({
  name: 'UsedNonce',
  tableName: 'used_nonces',
  properties: {
    digest: p.text().primary(),
    expiresAt: time().index('used_nonces_by_expiry'),
  },
})

export const authEntities = [Identity, Session, OneTimeCode, PendingSignUp, PasswordReset, LoginThrottle, UsedNonce]

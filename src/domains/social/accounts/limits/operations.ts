import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, NotFound, PlanLimit } from '../../../../core/errors.ts'
import { operation, owner } from '../../../../core/operation.ts'
import { ok } from '../../../../core/reply.ts'
import { Envelope, Input, Type } from '../../../../core/schema.ts'
import { AccountNotConnected } from '../errors.ts'
import { LimitStatus } from './schemas.ts'
import { AccountPath, SocialAccountView } from '../schemas.ts'

const EXAMPLE_PATH = { path: { id: EXAMPLE.accountId } }

export const getLimitStatus = operation({
  route: 'GET /api/limits/status',
  summary: 'Get what exceeds the plan',
  description:
    'Shows what exceeds the limits of the plan after a downgrade, and which accounts can be archived. The limits of open posts and of recurring posts apply to each workspace.',
  access: 'user',
  returns: { 200: Envelope(LimitStatus) },
  example: {},
  handle: async ({ caller, socialAccounts }) => ok('Limits', await socialAccounts.limits.statusOf(caller.userId)),
})

export const archiveAccount = operation({
  route: 'POST /api/limits/accounts/{id}/archive',
  summary: 'Archive an account',
  description:
    'An archived account keeps its posts and history and does not count against the plan. Nothing is published to it.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound, Conflict, AccountNotConnected],
  example: EXAMPLE_PATH,
  handle: async ({ caller, path, socialAccounts, turn }) =>
    ok('Account archived', await socialAccounts.lifecycle.archive(turn, path.id, caller.userId)),
})

export const unarchiveAccount = operation({
  route: 'POST /api/limits/accounts/{id}/unarchive',
  summary: 'Unarchive an account',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound, Conflict, PlanLimit, AccountNotConnected],
  example: EXAMPLE_PATH,
  handle: async ({ caller, path, socialAccounts, turn }) =>
    ok('Account active', await socialAccounts.lifecycle.unarchive(turn, path.id, caller.userId)),
})

export const suspendAccount = operation({
  route: 'POST /api/limits/accounts/{id}/suspend',
  summary: 'Suspend an account',
  description: 'Nothing is published to a suspended account. Send `suspended: false` to lift the suspension.',
  access: 'admin',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  body: Input({ suspended: Type.Optional(Type.Boolean({ default: true })) }),
  bodyOptional: true,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound],
  example: EXAMPLE_PATH,
  handle: async ({ body, caller, path, socialAccounts, turn }) =>
    ok(
      'Suspension changed',
      await socialAccounts.lifecycle.suspend(turn, path.id, caller.userId, body?.suspended ?? true),
    ),
})

export const removeAccount = operation({
  route: 'POST /api/limits/accounts/{id}/remove',
  summary: 'Remove an account',
  description: 'The same as disconnecting it. It can be restored for 30 days.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound],
  example: EXAMPLE_PATH,
  handle: async ({ caller, path, socialAccounts, turn }) =>
    ok('Account removed', await socialAccounts.lifecycle.remove(turn, path.id, caller.userId)),
})

export const restoreAccount = operation({
  route: 'POST /api/limits/accounts/{id}/restore',
  summary: 'Restore a removed account',
  description:
    'An account can be restored for 30 days. If the platform has revoked the access, connect the account again.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound, Conflict, PlanLimit],
  example: EXAMPLE_PATH,
  handle: async ({ caller, path, socialAccounts, turn }) =>
    ok('Account restored', await socialAccounts.lifecycle.restore(turn, path.id, caller.userId)),
})

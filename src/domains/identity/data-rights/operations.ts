import { Conflict } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { done, ok } from '../../../core/reply.ts'
import { Done, Envelope } from '../../../core/schema.ts'
import { FreshLoginNeeded, TooManyAttempts, WrongPassword, WrongSecondFactor } from '../auth/index.ts'
import { AccountDeletionView, DeletionRequest } from './schemas.ts'

export const exportMyData = operation({
  route: 'GET /api/users/me/export',
  summary: 'Export everything that is held on you',
  description:
    'A zip archive with one JSON file for each kind of data. `README.txt` and `manifest.json` describe the files. Secrets and what is about other people are left out. One export runs at a time.',
  access: 'user',
  returns: { 200: { contentType: 'application/zip', live: true } },
  headers: ['Content-Disposition'],
  errors: [Conflict],
  example: {},
  handle: ({ caller, dataRights }) => dataRights.export.archiveOf(caller.userId),
})

export const deleteMyAccount = operation({
  route: 'DELETE /api/users/me',
  summary: 'Delete your account in 30 days',
  description:
    'Needs your password, and a code if the second factor is on, or a login within the last 10 minutes. At once, all sessions end, all API keys are deleted, and the subscription is cancelled at the end of its period. For 30 days you can sign in and keep the account with POST /api/users/me/deletion/cancel. Then your profile, sign-ins, settings, memberships and payment methods are deleted. Workspaces pass to another owner; without one they are deleted, and their social accounts with them. Invoices, payments and bookings are kept as the law requires. Posts and messages stay in their workspaces, without your name. Repeating it changes nothing.',
  access: 'user',
  body: DeletionRequest,
  bodyOptional: true,
  returns: { 200: Envelope(AccountDeletionView) },
  errors: [WrongPassword, FreshLoginNeeded, WrongSecondFactor, TooManyAttempts],
  example: { body: { password: 'correct horse battery staple' } },
  handle: async ({ body, caller, dataRights }) =>
    ok('Your account will be deleted', await dataRights.deletions.request(caller, body ?? {})),
})

export const getAccountDeletion = operation({
  route: 'GET /api/users/me/deletion',
  summary: 'Get when your account will be deleted',
  description: 'Both times are null if you have not asked for it.',
  access: 'user',
  returns: { 200: Envelope(AccountDeletionView) },
  example: {},
  handle: async ({ caller, dataRights }) => ok('Deletion of the account', await dataRights.deletions.get(caller)),
})

export const cancelAccountDeletion = operation({
  route: 'POST /api/users/me/deletion/cancel',
  summary: 'Keep your account',
  description: 'The subscription stays cancelled, and API keys must be created again.',
  access: 'user',
  returns: { 200: Done },
  example: {},
  handle: async ({ caller, dataRights }) => {
    await dataRights.deletions.cancel(caller)
    return done('Your account stays')
  },
})

import { job, schedule } from '../../../core/job.ts'
import { Type } from '../../../core/schema.ts'

/** `network`: where the request came from, as `networkOf` names it. */
const request = Type.Object({ email: Type.String(), network: Type.String() })

/** Runs as a job, so that the response time reveals nothing about the address. */
export const mailCode = job({
  name: 'auth.mail-code',
  summary: 'Mail a new code to an unconfirmed address',
  queue: 'mail',
  data: request,
  run: async ({ auth, data, effect }) => effect((tx) => auth.emailConfirmation.mailCode(tx, data.email, data.network)),
})

export const mailReset = job({
  name: 'auth.mail-reset',
  summary: 'Mail a password reset token',
  queue: 'mail',
  data: request,
  run: async ({ auth, data, effect }) => effect((tx) => auth.service.mailReset(tx, data.email, data.network)),
})

export const authHousekeeping = schedule({
  name: 'auth.housekeeping',
  summary: 'Delete expired codes, reset tokens, nonces, sessions and counts of failed attempts',
  cron: '*/10 * * * *',
  run: async ({ auth }) => auth.housekeeping.sweep(),
})

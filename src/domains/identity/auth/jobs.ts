import { job, schedule } from '../../../core/job.ts'
import { Type } from '../../../core/schema.ts'

/** `network`: of the one who asked, as `networkOf` names it. */
const request = Type.Object({ email: Type.String(), network: Type.String() })

/** Done after the reply, so that its duration tells a caller nothing about an address. */
export const mailCode = job({
  name: 'auth.mail-code',
  summary: 'Mail a new code to an address that waits for one',
  queue: 'mail',
  data: request,
  run: async ({ data, effect, emailConfirmation }) =>
    effect((tx) => emailConfirmation.mailCode(tx, data.email, data.network)),
})

export const mailReset = job({
  name: 'auth.mail-reset',
  summary: 'Mail a link to choose a new password',
  queue: 'mail',
  data: request,
  run: async ({ auth, data, effect }) => effect((tx) => auth.mailReset(tx, data.email, data.network)),
})

export const authHousekeeping = schedule({
  name: 'auth.housekeeping',
  summary: 'Delete expired codes, reset tokens, nonces, sessions and counts of failed attempts',
  cron: '*/10 * * * *',
  run: async ({ authHousekeeping: housekeeping }) => housekeeping.sweep(),
})

import { EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

/** Why a charge failed, in the texts of the mail. */
export type FailureReason = 'declined' | 'address' | 'money'

/** Their mails are part of the contract with the customer, so they cannot be switched off. */

export const trialEnding = notificationType({
  name: 'billing.trialEnding',
  kind: 'billing',
  page: '/billing',
  summary: 'Your trial ends in some days, and the first charge follows',
  mandatory: true,
  data: Type.Object({
    plan: Type.String(),
    day: Type.String(),
    address: Type.String({ description: 'Of the invoice: `known` or `missing`' }),
  }),
  example: { plan: 'Pro', day: EXAMPLE_TIME, address: 'known' },
})

export const chargeFailed = notificationType({
  name: 'billing.chargeFailed',
  kind: 'billing',
  page: '/billing',
  summary: 'A charge for your plan has failed, and is repeated',
  mandatory: true,
  urgent: true,
  data: Type.Object({
    plan: Type.String(),
    reason: Type.String({
      description:
        '`declined`: the payment method was declined. `address`: the invoice address is not complete. `money`: there is no payment method, and too little in the wallet. Notifications of before have a sentence.',
    }),
    day: Type.String(),
  }),
  example: { plan: 'Pro', reason: 'declined', day: EXAMPLE_TIME },
})

export const planEnded = notificationType({
  name: 'billing.ended',
  kind: 'billing',
  page: '/billing#plans',
  summary: 'Your plan has ended',
  mandatory: true,
  data: Type.Object({ plan: Type.String(), base: Type.String() }),
  example: { plan: 'Pro', base: 'Free' },
})

import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound } from '../../../../core/errors.ts'
import { operation } from '../../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../../core/page.ts'
import { created, done, list, ok } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { TrialUsed } from '../../plans/index.ts'
import { GatewayNotConfigured, GatewayUnavailable, PaymentMethodNeeded } from '../errors.ts'
import { MethodPath, PaymentMethodSetup, PaymentMethodView, SavedSetupInput, SetupInput } from '../schemas.ts'

export const listPaymentMethods = operation({
  route: 'GET /api/users/me/payment-methods',
  summary: 'List your payment methods',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(PaymentMethodView) },
  example: { query: { limit: 30 } },
  handle: async ({ caller, payments, query }) =>
    list('Payment methods', await payments.methods.list(caller, pageRequest(query))),
})

export const setUpPaymentMethod = operation({
  route: 'POST /api/users/me/payment-methods/setup',
  summary: 'Begin to save a payment method',
  description:
    'The browser enters the card with the gateway’s own script and `clientSecret`. Then send `setupReference` to POST /api/users/me/payment-methods.',
  access: 'user',
  body: SetupInput,
  returns: { 201: Envelope(PaymentMethodSetup) },
  errors: [GatewayNotConfigured, GatewayUnavailable],
  example: { body: { gateway: 'stripe' } },
  handle: async ({ body, caller, payments }) =>
    created('Setup begun', await payments.methods.setUp(caller, body.gateway)),
})

export const savePaymentMethod = operation({
  route: 'POST /api/users/me/payment-methods',
  summary: 'Save a payment method that was entered in the browser',
  description: 'The first method becomes the default. It can be repeated.',
  access: 'user',
  body: SavedSetupInput,
  returns: { 201: Envelope(PaymentMethodView) },
  errors: [NotFound, GatewayNotConfigured, GatewayUnavailable, TrialUsed],
  example: { body: { gateway: 'stripe', setupReference: 'seti_1N2x3Y' } },
  handle: async ({ body, caller, payments }) =>
    created('Payment method saved', await payments.methods.save(caller, body.gateway, body.setupReference)),
})

export const deletePaymentMethod = operation({
  route: 'DELETE /api/users/me/payment-methods/{id}',
  summary: 'Delete a payment method',
  description: 'If it was the default, the newest other one becomes the default.',
  access: 'user',
  path: MethodPath,
  returns: { 200: Done },
  errors: [NotFound, PaymentMethodNeeded],
  example: { path: { id: EXAMPLE.paymentMethodId } },
  handle: async ({ caller, path, payments }) => {
    await payments.methods.delete(caller, path.id)
    return done('Payment method deleted')
  },
})

export const setDefaultPaymentMethod = operation({
  route: 'PATCH /api/users/me/payment-methods/{id}/default',
  summary: 'Make a payment method the default',
  description: 'Renewals are charged to the default.',
  access: 'user',
  path: MethodPath,
  returns: { 200: Envelope(PaymentMethodView) },
  errors: [NotFound],
  example: { path: { id: EXAMPLE.paymentMethodId } },
  handle: async ({ caller, path, payments }) =>
    ok('Default payment method', await payments.methods.setDefault(caller, path.id)),
})

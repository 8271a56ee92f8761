import { operation } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope, Type } from '../../../core/schema.ts'
import { PlanView } from './schemas.ts'

export const listPlans = operation({
  route: 'GET /api/plans',
  summary: 'List plans',
  description: '`trialLimits` is what the free trial of a plan allows.',
  access: 'public',
  returns: { 200: Envelope(Type.Array(PlanView)) },
  example: {},
  handle: async ({ plans }) => ok('Plans', plans.all()),
})
